#include "cli/lm.h"

#include "cli/commands.h"

namespace fmd::cli {

void add_lm(CLI::App& app) {
  auto* lm = app.add_subcommand("lm", "Language models: measure and edit stereotypes");
  lm->require_subcommand(1);
  add_lm_debias(*lm);
  add_lm_pairs(*lm);
}

}  // namespace fmd::cli
