#pragma once

#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "fmd/baselines/postprocess.h"

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

}  // namespace fmd::test
