#include "cli/run.h"

#include <cstdio>
#include <new>

#include <fmt/core.h>

#include "cli/commands.h"
#include "fmd/core/blas.h"
#include "fmd/core/error.h"
#include "fmd/version.h"

namespace fmd::cli {
namespace {

constexpr const char* kAbout =
    "fmd finds, explains and removes measured bias in a trained model, without retraining "
    "it.";

constexpr const char* kMainFooter = R"(
Begin with
  fmd demo                                     everything on built-in data
  fmd train YOUR.csv --label COLUMN --positive VALUE --attribute COLUMN -o model.safetensors
Each command has --help with examples. Results go to stdout, messages go to stderr.
Exit codes: 0 done or pass, 1 fail or no candidate, 2 wrong usage, 3 not enough evidence,
11 and more: errors by kind (docs/errors.md).)";

int parse_and_run(int argc, char** argv) {
  CLI::App app(kAbout, "fmd");
  app.set_version_flag("--version", std::string("fmd ") + version());
  app.require_subcommand(1);
  app.footer(kMainFooter);
  app.get_formatter()->column_width(34);
  for (const auto add : {add_demo, add_split, add_train, add_predict, add_features,
                         add_audit, add_pairs, add_explain, add_debias, add_compare,
                         add_undo, add_verify, add_data, add_reproduce, add_doctor})
    add(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  setup_blas();
  return chosen_work()();
}

}  // namespace

int run_command(int argc, char** argv) {
  try {
    return parse_and_run(argc, argv);
  } catch (const Error& error) {
    fmt::print(stderr, "fmd: error[{}]: {}\n", id(error.kind()), error.what());
    if (!error.hint().empty()) fmt::print(stderr, "  hint: {}\n", error.hint());
    return exit_code(error.kind());
  } catch (const std::bad_alloc&) {
    fmt::print(stderr,
               "fmd: error[bad-data]: out of memory\n  hint: use fewer rows at a time\n");
    return exit_code(ErrorKind::bad_data);
  } catch (const std::exception& error) {
    fmt::print(
        stderr,
        "fmd: internal error: {}\n  hint: please report this with the command line\n",
        error.what());
    return 99;
  }
}

}  // namespace fmd::cli
