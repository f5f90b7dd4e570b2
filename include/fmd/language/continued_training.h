#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "fmd/core/exec.h"
#include "fmd/core/output_files.h"
#include "fmd/language/language_model.h"
#include "fmd/language/sentence_pairs.h"

namespace fmd {

// What rivals do that train a whole model on: CDA with sentences whose groups are swapped,
// Dropout with more dropout. Models of the Llama kind alone; the plug-in of PyTorch trains.

struct TrainingOn {
  Index tokens = 10240;  // at most so many are trained on, each once
  Index length = 128;    // of a sequence; must be within the context
  Index batch = 8;       // sequences of a step
  double rate = 5e-5;    // of AdamW without decay; falls to 0 in a straight line
  double dropout = 0;    // of embeddings, attention and what each layer adds; [0, 1)
};

struct TrainedOn {
  Index steps = 0, tokens = 0;
  std::vector<double> losses;  // before each step, per token
};

// Each line with a listed word, and after it the same line with the words of another group:
// of two groups the other one, of more one of the others at random by the seed. Lines
// without a listed word are left out.
[[nodiscard]] std::vector<std::string> two_sided(const std::vector<std::string>& lines,
                                                 const SwapWords& words,
                                                 std::uint64_t seed);

// Trains the model of a folder on these lines, in their order, and writes the folder OUT
// with the new weights in the old dtypes. The token that begins a text stands before each
// line. backbone.onnx is not copied: its states are of the old weights. The same numbers
// for the same seed and one thread. Throws Error(unsupported: another kind of model, no
// plug-in), Error(bad_data: fewer tokens than one step has), Error(bad_option), and what
// OutputFiles throws; `files` commits.
[[nodiscard]] TrainedOn train_on(const std::filesystem::path& model,
                                 const std::vector<std::string>& lines,
                                 const TrainingOn& options, OutputFiles& files,
                                 const std::filesystem::path& out, const Exec& exec);

}  // namespace fmd
