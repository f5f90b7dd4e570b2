#pragma once

#include <string>
#include <vector>

#include "fmd/data/table.h"
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

// Reads images, attributes, split and network below the data folder, checks their sha256,
// and runs the images through the network. Features are kept in `cache` where it is named.
[[nodiscard]] FaceSet read_faces(const std::filesystem::path& data_folder,
                                 const std::string& network, const std::string& label,
                                 const std::filesystem::path& cache, const Exec& exec);

// Table 3 with one draw of D_ex. Every setting is chosen by cross-fitting over D_ex: the
// highest mean accuracy over label x gender among those that lose at most the budget.
[[nodiscard]] UnitResult run_faces(World& world, const Unit& unit, const Exec& exec);

}  // namespace fmd::repro
