#pragma once

// A job that other programs do too: safetensors written by a script of bench/rivals, with
// training rows X and y, pairs C, Cbar and pair_y, parameters theta and l2.

#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "fmd/core/file.h"
#include "fmd/core/output_files.h"
#include "fmd/formats/safetensors.h"
#include "fmd/model/features.h"
#include "fmd/model/pairs.h"
#include "fmd/model/rows.h"

namespace fmd::bench {

template <typename T>
std::vector<T> numbers(const Safetensors& file, const std::string& name) {
  const Tensor& tensor = file.tensors.at(name);
  std::vector<T> values(tensor.bytes.size() / sizeof(T));
  std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
  return values;
}

struct Job {
  std::unique_ptr<Features> X, C, Cbar;
  std::vector<std::int32_t> y, pair_y;
  Vector theta;
  double l2 = 0;
  PairSet pairs;

  [[nodiscard]] Rows train() const { return {X.get(), y, {}, {}}; }

  void make_pairs() {
    pairs.c = {C.get(), pair_y, {}, {}};
    pairs.cbar = {Cbar.get(), pair_y, {}, {}};
    for (Index i = 0; i < C->rows(); ++i) {
      pairs.unit.push_back(i);
      pairs.weight.push_back(1);
    }
  }
};

inline std::unique_ptr<Features> features(const Safetensors& file,
                                          const std::string& name) {
  const std::vector<Index>& shape = file.tensors.at(name).shape;
  return make_dense(numbers<float>(file, name), shape[0], shape[1]);
}

inline Job read_job(const std::filesystem::path& path) {
  const FileView view = FileView::open(path);
  const Safetensors file = Safetensors::parse(view.bytes(), path.string());
  Job job;
  job.X = features(file, "X");
  job.C = features(file, "C");
  job.Cbar = features(file, "Cbar");
  job.y = numbers<std::int32_t>(file, "y");
  job.pair_y = numbers<std::int32_t>(file, "pair_y");
  const std::vector<double> theta = numbers<double>(file, "theta");
  job.theta = Eigen::Map<const Vector>(theta.data(), static_cast<Index>(theta.size()));
  job.l2 = numbers<double>(file, "l2").at(0);
  job.make_pairs();
  return job;
}

// One tensor of a file that a script of bench/rivals reads.
inline void write_vector(const std::string& file, const std::string& name,
                         const Vector& vector) {
  const std::vector<double> values(vector.begin(), vector.end());
  Safetensors tensors;
  tensors.tensors[name] = tensor_view(values, {vector.size()});
  const Bytes bytes = tensors.write();
  write_file(file, {reinterpret_cast<const char*>(bytes.data()), bytes.size()}, true);
}

// What follows "--name=" among the arguments; empty where it is not there.
inline std::string argument(int count, char** arguments, const std::string& name) {
  for (int i = 1; i < count; ++i) {
    const std::string text = arguments[i];
    if (text.starts_with("--" + name + "=")) return text.substr(name.size() + 3);
  }
  return {};
}

}  // namespace fmd::bench
