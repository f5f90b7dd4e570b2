#pragma once

#include <fstream>
#include <memory>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "fmd/baselines/postprocess.h"
#include "fmd/model/features.h"

namespace fmd::test {

// tests/golden/baselines.json, made by tools/golden/baselines.py.
inline const nlohmann::json& baselines_golden() {
  static const nlohmann::json data = [] {
    std::ifstream file(FMD_TEST_DIR "/golden/baselines.json");
    return nlohmann::json::parse(file);
  }();
  return data;
}

inline PostRows post_rows(const nlohmann::json& rows) {
  return {rows["score"].get<std::vector<double>>(),
          rows["y"].get<std::vector<std::uint8_t>>(),
          rows["group"].get<std::vector<std::int32_t>>()};
}

inline Matrix golden_matrix(const nlohmann::json& values, Index cols) {
  const auto v = values.get<std::vector<double>>();
  return Eigen::Map<const Matrix>(v.data(), std::ssize(v) / cols, cols);
}
inline Vector golden_vector(const nlohmann::json& values) {
  const auto v = values.get<std::vector<double>>();
  return Eigen::Map<const Vector>(v.data(), std::ssize(v));
}
inline std::unique_ptr<Features> golden_features(const nlohmann::json& values, Index cols) {
  const auto v = values.get<std::vector<double>>();
  return make_dense({v.begin(), v.end()}, std::ssize(v) / cols, cols);
}

}  // namespace fmd::test
