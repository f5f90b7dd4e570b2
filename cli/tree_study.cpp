#include "cli/tree_study.h"

#include <cerrno>
#include <cstdlib>
#include <spawn.h>
#include <sys/wait.h>
#include <vector>

#include <fmt/format.h>

#include "cli/common.h"
#include "fmd/core/error.h"
#include "fmd/core/safe_text.h"

extern char** environ;

namespace fmd::internal {

// repro/trees.py
extern const unsigned char kReproTreesScript[];
extern const std::size_t kReproTreesScriptSize;

}  // namespace fmd::internal

namespace fmd::cli {
namespace {

constexpr int kMissingPackage = 77;  // the script's exit status

const char* const kHint =
    "make one: python3 -m venv trees && trees/bin/pip install xgboost-cpu lightgbm pandas "
    "scikit-learn fairlearn oxonfair; then fmd reproduce trees --python trees/bin/python";

std::vector<std::string> arguments_of(const TreeStudy& study) {
  const std::string script(reinterpret_cast<const char*>(internal::kReproTreesScript),
                           internal::kReproTreesScriptSize);
  std::error_code ignored;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", ignored);
  std::vector<std::string> words = {study.python, "-c",
                                    script,       program.string(),
                                    "--out",      study.folder.string(),
                                    "--seeds",    std::to_string(study.seeds),
                                    "--seed",     std::to_string(study.seed)};
  if (!study.fairgbm.empty()) words.insert(words.end(), {"--fairgbm", study.fairgbm});
  if (study.quick) words.emplace_back("--quick");
  if (study.fresh) words.emplace_back("--fresh");
  if (study.draw) words.emplace_back("--page");
  return words;
}

}  // namespace

void run_tree_study(const TreeStudy& study) {
  // The script needs to know where the tables are, as this command does.
  ::setenv("FMD_DATA", data_folder().c_str(), 1);
  std::vector<std::string> words = arguments_of(study);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t child = 0;
  const int failed =
      ::posix_spawnp(&child, study.python.c_str(), nullptr, nullptr, argv.data(), environ);
  if (failed != 0)
    throw Error(ErrorKind::unsupported,
                fmt::format("reproduce trees: the Python {} cannot be run",
                            safe_text(study.python)),
                kHint);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  if (code == kMissingPackage)
    throw Error(
        ErrorKind::unsupported,
        fmt::format("reproduce trees: a package is missing in {}", safe_text(study.python)),
        kHint);
  if (code != 0)
    throw Error(ErrorKind::bad_data, "reproduce trees: the script ended with an error",
                "its words stand above; finished splits are kept");
}

}  // namespace fmd::cli
