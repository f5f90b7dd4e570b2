#include "cli/run.h"

#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <new>
#include <sstream>
#include <unistd.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <fmt/core.h>

#include "cli/commands.h"
#include "cli/common.h"
#include "fmd/core/blas.h"
#include "fmd/core/error.h"
#include "fmd/core/file.h"
#include "fmd/core/output_files.h"
#include "fmd/core/safe_text.h"
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

// Numbers that no option means: NaN, infinity, and -1 where it would become 2^64 - 1.
void refuse_odd_numbers(CLI::App& command) {
  for (CLI::App* part : command.get_subcommands({})) refuse_odd_numbers(*part);
  for (CLI::Option* option : command.get_options()) {
    const std::string type = option->get_type_name();
    if (type.starts_with("FLOAT")) {
      option->check([](const std::string& text) -> std::string {
        double value = 0;
        const bool number = CLI::detail::lexical_cast(text, value);
        return !number || std::isfinite(value) ? "" : text + " is not a finite number";
      });
    } else if (type.starts_with("INT")) {
      // What a file's reader takes, too: beyond 2^53 a JSON number is not exact.
      option->check([](const std::string& text) -> std::string {
        double value = 0;
        const bool number = CLI::detail::lexical_cast(text, value);
        return !number || std::abs(value) <= 9007199254740992.0 ? ""
                                                                : text + " is too large";
      });
    } else if (type.starts_with("UINT")) {
      option->check([](const std::string& text) -> std::string {
        return text.find('-') == std::string::npos ? "" : text + " is below 0";
      });
    }
  }
}

// "-o -" is stdout where a command writes one file and says the rest on stderr.
void refuse_stdout(const CLI::App& command) {
  for (const CLI::App* part : command.get_subcommands()) refuse_stdout(*part);
  for (const char* name : {"predict", "pairs", "features", "undo"})
    if (command.get_name() == name) return;
  const CLI::Option* out = command.get_option_no_throw("--out");
  if (out == nullptr || out->count() == 0 || out->as<std::string>() != "-") return;
  throw Error(ErrorKind::bad_option,
              fmt::format("{} cannot write to -, which is stdout", command.get_name()),
              "name a file; --json prints the result as JSON");
}

constexpr const char* kFirstSteps = R"(
What to do
  fmd demo                          see everything on built-in data, in seconds
  fmd columns YOUR.csv              see what each column of your table is
  fmd train YOUR.csv --label COLUMN --positive VALUE --attribute COLUMN -o model.safetensors
  fmd audit model.safetensors OTHER.csv       measure the bias on rows not used in training
  fmd debias model.safetensors OTHER.csv -o repaired.safetensors              take it out
fmd --help lists all commands, fmd COMMAND --help explains one.
)";

// Memory that was freed serves again and does not go back to the system at once: new pages
// cost more than most passes over them.
void keep_memory() {
#ifdef __GLIBC__
  ::mallopt(M_MMAP_THRESHOLD, 32 << 20);  // the largest that is allowed
  ::mallopt(M_TRIM_THRESHOLD, 64 << 20);
#endif
}

// Where a caller closed stdin, stdout or stderr, the next file that is opened would take
// its place, and what is printed would go into that file. These take the places instead,
// and refuse what is read or written.
void occupy_standard_files() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(fd, F_GETFD) < 0) static_cast<void>(::open("/dev/null", O_PATH));
}

int parse_and_run(int argc, char** argv) {
  if (argc <= 1) {
    fmt::print(stderr, "{}\n{}", kAbout, kFirstSteps);
    return 2;
  }
  CLI::App app(kAbout, "fmd");
  app.set_version_flag("--version", std::string("fmd ") + version());
  app.require_subcommand(1);
  app.footer(kMainFooter);
  app.get_formatter()->column_width(34);
  app.failure_message([](const CLI::App*, const CLI::Error& error) {
    return safe_text(error.what()) + "\nRun with --help for more information.\n";
  });
  for (const auto add :
       {add_demo,   add_columns, add_split, add_train,     add_predict,  add_features,
        add_audit,  add_merge,   add_pairs, add_explain,   add_debias,   add_compare,
        add_undo,   add_verify,  add_data,  add_reproduce, add_coverage, add_lm,
        add_import, add_model,   add_doctor})
    add(app);
  for (CLI::App* command : app.get_subcommands({})) refuse_odd_numbers(*command);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::ostringstream out, err;
    const int code = app.exit(error, out, err);
    print(out.str());
    fmt::print(stderr, "{}", err.str());
    return code == 0 ? 0 : 2;
  }
  for (const CLI::App* command : app.get_subcommands()) refuse_stdout(*command);
  setup_blas();
  return chosen_work()();
}

}  // namespace

int run_command(int argc, char** argv) {
  try {
    const int code = parse_and_run(argc, argv);
    finish_stdout();
    return code;
  } catch (const Error& error) {
    fmt::print(stderr, "fmd: error[{}]: {}\n", id(error.kind()), safe_text(error.what()));
    if (!error.hint().empty()) fmt::print(stderr, "  hint: {}\n", safe_text(error.hint()));
    return exit_code(error.kind());
  } catch (const std::bad_alloc&) {
    fmt::print(stderr,
               "fmd: error[bad-data]: out of memory\n  hint: use fewer rows at a time\n");
    return exit_code(ErrorKind::bad_data);
  } catch (const std::exception& error) {
    fmt::print(
        stderr,
        "fmd: internal error: {}\n  hint: please report this with the command line\n",
        safe_text(error.what()));
    return 99;
  }
}

int run_process(int argc, char** argv) {
  keep_memory();
  occupy_standard_files();
  const char* folder = std::getenv("TMPDIR");
  serve_pipes(folder == nullptr || *folder == 0 ? "/tmp" : folder);
  // Output files have temporary names until they are complete: on a signal they are
  // removed, and nothing needs to be saved.
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) {
    std::signal(signal, [](int number) {
      remove_unfinished();
      _exit(128 + number);
    });
  }
  return run_command(argc, argv);
}

}  // namespace fmd::cli
