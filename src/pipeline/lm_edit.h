#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "core/internal.h"
#include "fmd/language/head_study.h"
#include "fmd/pipeline/lm_debias.h"

namespace fmd::internal {

// The work of lm_debias() before anything is written: the same for debias and verify.
class LmEdit {
 public:
  // Reads all files and makes the edit from all pairs.
  LmEdit(const LmDebiasFiles& files, const LmDebiasOptions& options, const Exec& exec);

  [[nodiscard]] const LanguageModel& model() const { return model_; }
  [[nodiscard]] VocabularyHead new_head() const;
  // Options, data and the edit; no figures.
  [[nodiscard]] LmDebiasReport report() const;
  // Figures before, from the model, and after, from the changed one that was read back.
  void measure(const LanguageModel& changed, LmDebiasReport& report,
               const Exec& exec) const;

 private:
  // The edit, or a control of the same share and the same predicted KL, from some pairs.
  [[nodiscard]] HeadEdit edit_from(const std::vector<Index>& pairs, const Exec& exec) const;
  [[nodiscard]] HeadEdit control_from(HeadMethod method, const Matrix& kernel,
                                      const std::vector<Index>& pairs, const HeadEdit& edit,
                                      const Exec& exec) const;
  // Scores of each item by the edit that `make` gives from the pairs of other targets.
  using MakeEdit = std::function<HeadEdit(const std::vector<Index>& pairs)>;
  [[nodiscard]] SentenceScores cross_fitted(const MakeEdit& make, const Exec& exec) const;
  void add_controls(LmDebiasReport& report, const Exec& exec) const;
  [[nodiscard]] const HeadStudy& items() const { return test_ ? *test_ : pairs_; }

  LmDebiasFiles files_;
  LmDebiasOptions options_;
  LanguageModel model_;
  HeadStudy pairs_;
  std::optional<HeadStudy> test_;  // none: the pairs are what is measured
  NeutralText text_;
  std::vector<HeadPair> list_;
  HeadCurvature curvature_;
  PairGradients gradients_;
  Matrix kernel_;
  HeadEdit edit_;
  std::vector<std::string> notes_;
  int folds_ = 0;  // that are used
  std::uint64_t seed_ = 1;
};

}  // namespace fmd::internal
