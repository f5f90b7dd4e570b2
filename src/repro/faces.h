#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "fmd/data/table.h"
#include "fmd/metrics/scored.h"
#include "repro/experiment.h"

namespace fmd::repro {

// The faces of CelebA's test split as one trained network sees them.
struct FaceSet {
  Table table;                     // the 40 attributes; +1 and -1
  std::string label;               // the attribute that the network predicts
  std::vector<std::int32_t> part;  // of each face: 0 train, 1 D_ex, 2 report
  std::vector<std::int32_t> y, male;
  std::vector<float> features;  // rows x cols
  Index cols = 0;
  // The last layer as one logit: weights, intercept. The difference of the two outputs has
  // the same probabilities.
  Vector theta;
};

// Checks the sha256 of all files below the data folder and reads attributes and split: a
// set without features.
[[nodiscard]] FaceSet read_face_table(const std::filesystem::path& data_folder,
                                      const std::string& label, const Exec& exec);

// Reads images, attributes, split and network below the data folder, checks their sha256,
// and runs the images through the network. Features are kept in `cache` where it is named.
[[nodiscard]] FaceSet read_faces(const std::filesystem::path& data_folder,
                                 const std::string& network, const std::string& label,
                                 const std::filesystem::path& cache, const Exec& exec);

// The figures of Table 3 for answers to some faces, with the pairs of faces that differ in
// gender. The pairs are the same for every seed.
class FaceJudge {
 public:
  FaceJudge(const FaceSet& set, std::vector<Index> rows, const Exec& exec);
  // p1: of the label, for each of the rows.
  [[nodiscard]] std::map<std::string, double> figures(const std::vector<double>& p1) const {
    return judge_(p1);
  }
  [[nodiscard]] const std::vector<Index>& rows() const { return rows_; }

 private:
  std::vector<Index> rows_;
  std::function<std::map<std::string, double>(const std::vector<double>&)> judge_;
};

// Table 3 with one draw of D_ex. Every setting is chosen by cross-fitting over D_ex: the
// highest mean accuracy over label x gender among those that lose at most the budget.
[[nodiscard]] UnitResult run_faces(World& world, const Unit& unit, const Exec& exec);

}  // namespace fmd::repro
