#include "cli/common.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <sys/resource.h>
#include <system_error>
#include <unistd.h>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "fmd/core/error.h"
#include "fmd/core/exec.h"
#include "fmd/core/file.h"
#include "fmd/core/hash.h"
#include "fmd/core/safe_text.h"
#include "fmd/formats/torchscript.h"
#include "fmd/formats/tree_rounds.h"
#include "fmd/pipeline/complete_task.h"

namespace fmd::cli {
namespace {

double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::string short_time(double seconds) {
  if (seconds < 90) return fmt::format("{:.0f} s", seconds);
  if (seconds < 5400) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

// 1,234 -> "1234", 1,234,567 -> "1.2 M"
std::string short_count(double count) {
  if (count < 1e4) return fmt::format("{:.0f}", count);
  if (count < 1e6) return fmt::format("{:.0f} k", count / 1e3);
  return fmt::format("{:.1f} M", count / 1e6);
}

// One line on a terminal, cleared when the work is done. Called from one thread at a time.
class ProgressLine {
 public:
  void show(std::string_view stage, Index done, Index total) {
    const double now = wall_seconds();
    if (stage != stage_ || done == 0) {
      stage_ = stage;
      begun_ = now;
    }
    std::string line(stage);
    if (total > 0) {
      const auto part = static_cast<double>(done), all = static_cast<double>(total);
      line += fmt::format(" {} of {}", short_count(part), short_count(all));
      const double seconds = now - begun_;
      if (seconds > 0.5 && done > 0)
        line += fmt::format(", {} a second, {} left", short_count(part / seconds),
                            short_time(seconds * (all - part) / part));
    }
    fmt::print(stderr, "\r\033[K{}", safe_text(line));
    std::fflush(stderr);
  }

 private:
  std::string stage_;
  double begun_ = 0;
};

// Where a plug-in may be: the file that the variable names; otherwise in the program's
// folder or the one above (after a build), in the library folder beside the program's
// folder (after an installation), or where the system looks.
std::vector<std::string> plugin_paths(const std::string& file, const char* variable) {
  if (const char* given = std::getenv(variable)) return {given};
  std::vector<std::string> paths;
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) {
    const auto folder = program.parent_path();
    for (const auto& place :
         {folder, folder.parent_path(), folder.parent_path() / FMD_LIBRARY_FOLDER}) {
      if (std::filesystem::exists(place / file, error))
        paths.push_back((place / file).string());
    }
  }
  paths.push_back(file);
  return paths;
}

// Where ONNX Runtime may be: the file that FMD_ORT_LIB names; otherwise that of the build's
// own environment (FMD_ORT_FOLDER, after a build), or where the system looks.
std::vector<std::string> onnx_runtime_paths() {
  if (const char* given = std::getenv("FMD_ORT_LIB")) return {given};
  std::vector<std::string> paths;
  std::error_code error;
  for (const auto& python : std::filesystem::directory_iterator(FMD_ORT_FOLDER, error)) {
    const auto folder = python.path() / "site-packages/onnxruntime/capi";
    for (const auto& file : std::filesystem::directory_iterator(folder, error))
      if (file.path().filename().string().starts_with("libonnxruntime.so"))
        paths.push_back(file.path().string());
  }
  paths.insert(paths.end(), {"libonnxruntime.so.1", "libonnxruntime.so"});
  return paths;
}

const BackendFiles& backend_files() {
  static const BackendFiles files = {
      {"parquet", plugin_paths("fmd_parquet.so", "FMD_PARQUET_LIB")},
      {"onnx", plugin_paths("fmd_onnx.so", "FMD_ONNX_LIB")},
      {"torch", plugin_paths("fmd_torch.so", "FMD_TORCH_LIB")},
      {"images", plugin_paths("fmd_images.so", "FMD_IMAGES_LIB")},
      {"onnxruntime", onnx_runtime_paths()}};
  return files;
}

Exec with_backends(Exec exec) {
  exec.backends = &backend_files();
  return exec;
}

}  // namespace

Session::Session(const Common& common) : pool_(common.threads), start_(wall_seconds()) {
  exec_ = with_backends({.pool = &pool_});
  exec_.seed = common.seed;
  note_ = [this](const std::string& text) {
    if (std::find(notes_.begin(), notes_.end(), text) != notes_.end()) return;
    notes_.push_back(text);
    say("note   " + safe_text(text));
  };
  exec_.notes = &note_;
  if (isatty(STDERR_FILENO) == 0) return;
  progress_.emplace([line = std::make_shared<ProgressLine>()](std::string_view stage,
                                                              Index done, Index total) {
    line->show(stage, done, total);
  });
  exec_.progress = &*progress_;
}

Session::~Session() {
  if (progress_) fmt::print(stderr, "\r\033[K");
}

double Session::seconds() const { return wall_seconds() - start_; }

double Session::cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

void add_common(CLI::App& command, Common& common) {
  const Topic topic(command, "How to run");
  command.add_option("--seed", common.seed, "Seed of every random choice")
      ->capture_default_str();
  command
      .add_option("--threads", common.threads,
                  "Number of threads; 0 = all cores. Results do not depend on it")
      ->check(CLI::Range(0, 64))
      ->capture_default_str();
  command.add_option("--task", common.task_file,
                     "task.toml: label, classes, attributes, limits");
  command.add_flag("--json", common.json, "JSON on stdout instead of the screen");
}

void add_match_options(CLI::App& command, TaskOverrides& flags) {
  const Topic topic(command, "Matched pairs (--pairs match)");
  command
      .add_option("--match-columns", flags.match_columns,
                  "Match by equal values of this column; may be repeated")
      ->allow_extra_args(false);
  command.add_option("--caliper", flags.caliper,
                     "Largest distance of a matched pair: a number, or 1sd");
  command
      .add_option("--reuse", flags.reuse,
                  "How often one row may be a partner (5; 0 = no limit)")
      ->check(CLI::NonNegativeNumber);
}

void add_column_options(CLI::App& command, TaskOverrides& flags) {
  command.add_option("--label", flags.label, "Column with the label");
  command.add_option("--positive", flags.positive,
                     "Label value whose probability the model gives");
  command.add_option("--favorable", flags.favorable,
                     "Label value that is good for the person");
  command
      .add_option("--attribute", flags.attributes, "Attribute in question; may be repeated")
      ->allow_extra_args(false)
      ->check([](const std::string& text) -> std::string {
        return text.empty() ? "an attribute has no name" : "";
      });
  const Topic topic(command, "Columns");
  command
      .add_option("--category", flags.category,
                  "Column whose numbers are names of groups; may be repeated")
      ->allow_extra_args(false);
  command
      .add_option("--one-hot", flags.one_hot,
                  "Columns of 0 and 1 that are one attribute: race=race_*; may be repeated")
      ->allow_extra_args(false);
  command.add_option("--id", flags.id,
                     "Column that names a row; not an input of the model");
  command.add_option("--weight", flags.weight, "Column with row weights");
  command
      .add_option("--ignore", flags.ignore, "Column that is not an input; may be repeated")
      ->allow_extra_args(false);
}

void add_task_options(CLI::App& command, TaskOverrides& flags) {
  add_column_options(command, flags);
  const Topic topic(command, "Task");
  command.add_option("--threshold", flags.threshold,
                     "The answer is positive at p >= this; rate=R: a share R of the "
                     "training rows is answered positive");
  command.add_option("--pairs", flags.pairs,
                     "flip, given:FILE (joined by --id), column:NAME (of the other image), "
                     "images (--pair-images), or match, match:overlap, match:mahalanobis, "
                     "match:cosine");
  add_match_options(command, flags);
  command.add_option("--unseen", flags.unseen,
                     "Categories not seen in training: error or bucket");
  command.add_option("--min-group", flags.min_group,
                     "Groups with fewer rows are listed, not compared (100)");
}

void add_guard(CLI::App& command, bool& guard) {
  command.add_flag("--guard-formulas", guard,
                   "In CSV, put ' before texts that a spreadsheet would run as a formula");
}

void add_groups_options(CLI::App& command, GroupsFile& groups) {
  const Topic topic(command, "Columns");
  auto* file =
      command.add_option("--groups", groups.file, "Second file with attribute columns");
  command.add_option("--key", groups.key, "Column that joins DATA and --groups")
      ->needs(file);
}

void add_inputs_options(CLI::App& command, Common& common) {
  const Topic topic(command, "Images and files of models");
  command.add_option("--images", common.images,
                     "Folder or tar file with the images that a column of DATA names");
  command.add_option("--pair-images", common.pair_images,
                     "The same images with the attribute changed, for --pairs images");
  add_feature_cache(command, common);
  add_formats_options(command, common);
}

void add_feature_cache(CLI::App& command, Common& common) {
  command.add_option("--feature-cache", common.feature_cache,
                     "Folder that keeps the features of images and tensors for later "
                     "commands, or none (~/.cache/fmd)");
}

InputFiles input_files(const Common& common) {
  InputFiles files{.images = common.images,
                   .pair_images = common.pair_images,
                   .cache = common.feature_cache};
  if (common.feature_cache == "none") files.cache.clear();
  if (!common.feature_cache.empty()) return files;
  const auto folder = [](const char* name) -> std::filesystem::path {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
  };
  if (const auto caches = folder("XDG_CACHE_HOME"); caches.is_absolute()) {
    files.cache = caches / "fmd";
  } else if (const auto home = folder("HOME"); home.is_absolute()) {
    files.cache = home / ".cache/fmd";
  }
  return files;
}

void add_ledger_option(CLI::App& command, std::string& ledger) {
  const Topic topic(command, "Records");
  command.add_option("--ledger", ledger,
                     "A file that counts how often these rows were looked at; a line is "
                     "added");
}

std::optional<LedgerCount> note_look(const std::string& ledger, const std::string& command,
                                     const std::string& data, const std::string& model,
                                     const Exec& exec) {
  if (ledger.empty()) return std::nullopt;
  const RowSet set = row_set(data_source(data), exec);
  return add_to_ledger(ledger, {.date = now_utc(),
                                .command = command,
                                .set = set.name,
                                .rows = set.rows,
                                .seed = exec.seed,
                                .model = file_sha256(model)});
}

void add_rows_option(CLI::App& command, Common& common) {
  const Topic topic(command, "Images and files of models");
  command.add_option("--training-rows", common.training_rows,
                     "The file of training rows, where it is not MODEL.rows");
}

std::unique_ptr<ModelFile> open_file(const Common& common, const std::string& path) {
  std::unique_ptr<ModelFile> file = open_model_file(path, formats(common));
  if (!common.training_rows.empty()) file->use_rows(common.training_rows);
  return file;
}

void add_formats_options(CLI::App& command, Common& common) {
  command
      .add_option("--trees", common.trees,
                  "Rounds of an XGBoost model with early stopping that are the model")
      ->check(CLI::IsMember({"all", "best"}));
  command.add_flag("--allow-torchscript", common.allow_torchscript,
                   "Open TorchScript models too, which can hold code that runs: only those "
                   "you trust");
}

ModelFormats formats(const Common& common) {
  return with_tree_rounds(common.allow_torchscript
                              ? formats_with_torchscript(&backend_files())
                              : model_formats(),
                          common.trees == "all"    ? TreeRounds::all
                          : common.trees == "best" ? TreeRounds::best
                                                   : TreeRounds::as_library);
}

TaskChanges task_changes(const Common& common, const TaskOverrides& flags) {
  TaskChanges changes{.file = {}, .flags = flags, .inputs = input_files(common)};
  if (!common.task_file.empty()) changes.file = read_task(common.task_file);
  return changes;
}

Task effective_task(Task task, const Common& common, const TaskOverrides& flags) {
  return complete_task(std::move(task), task_changes(common, flags));
}

DataSource data_source(const std::string& name, const GroupsFile& groups) {
  return DataSource::file(name, data_folder()).joined(groups);
}

void apply_task(Model& model, const Common& common, const TaskOverrides& flags,
                const std::string& data, const Exec& exec) {
  model = complete_model(std::move(model), data_source(data), task_changes(common, flags),
                         with_backends(exec));
}

Index parse_layers(const std::string& text, const Model& model) {
  const auto all = static_cast<Index>(model.head->widths().size()) - 1;
  if (text == "all") return all;
  Index layers = 0;
  const char* const end = text.data() + text.size();
  const auto [read, error] = std::from_chars(text.data(), end, layers);
  if (error != std::errc() || read != end)
    throw Error(ErrorKind::bad_option,
                fmt::format("layers is '{}', the model has {}", text, all),
                fmt::format("write a number from 1 to {}, or all", all));
  return layers;
}

std::filesystem::path data_folder() {
  const char* folder = std::getenv("FMD_DATA");
  return folder == nullptr ? "data" : folder;
}

Table read_data(const std::string& name, const CsvOptions& options, const Exec& exec) {
  return read_named(name, options, data_folder(), with_backends(exec));
}

std::string file_sha256(const std::string& name) {
  if (name.starts_with("data:")) return "";
  return hex(sha256_file(name));
}

namespace {

// The same value with texts that are UTF-8. The commands choose the keys.
nlohmann::ordered_json with_valid_texts(nlohmann::ordered_json json) {
  if (json.is_string()) return valid_utf8(json.get_ref<const std::string&>());
  if (json.is_structured())
    for (auto& value : json) value = with_valid_texts(value);
  return json;
}

[[noreturn]] void fail_stdout(int code) {
  throw Error(ErrorKind::cannot_write,
              fmt::format("cannot write the result to stdout: {}",
                          std::generic_category().message(code)),
              "what was printed is not complete; run again with room for it");
}

}  // namespace

void print(const std::string& text) {
  static const bool terminal = isatty(STDOUT_FILENO) != 0;
  const std::string shown = terminal ? safe_lines(text) : "";
  const std::string& out = terminal ? shown : text;
  if (std::fwrite(out.data(), 1, out.size(), stdout) != out.size()) fail_stdout(errno);
}

void print(const nlohmann::ordered_json& json) {
  try {
    print(json.dump(2) + "\n");
  } catch (const nlohmann::ordered_json::type_error&) {  // a byte that is not UTF-8
    print(with_valid_texts(json).dump(2) + "\n");
  }
}

std::function<void(std::string_view)> standard_output(const Common& common) {
  return [json = common.json](std::string_view text) {
    if (json) {
      throw Error(ErrorKind::bad_option, "-o - and --json both write to stdout",
                  "leave one of them out");
    }
    print(std::string(text));
  };
}

void finish_stdout() {
  errno = 0;
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
    fail_stdout(errno == 0 ? EIO : errno);
}

void print_line(const std::string& text) { print(safe_text(text) + "\n"); }

void say(const std::string& text) { fmt::print(stderr, "{}\n", safe_text(text)); }

std::string now_utc() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

std::string with_commas(Index count) {
  std::string digits = std::to_string(count);
  for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3)
    digits.insert(static_cast<std::size_t>(at), ",");
  return digits;
}

Work& chosen_work() {
  static Work work;
  return work;
}

void on_run(CLI::App& command, Work work) {
  command.callback([work = std::move(work)] { chosen_work() = work; });
}

}  // namespace fmd::cli
