#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json_fwd.hpp>

#include "fmd/core/exec.h"
#include "fmd/data/csv.h"
#include "fmd/data/task.h"
#include "fmd/formats/model_file.h"
#include "fmd/model/model.h"
#include "fmd/pipeline/ledger.h"
#include "fmd/pipeline/read.h"

namespace fmd::cli {

// What several commands share.

// What every command takes: --seed, --threads, --task, --json.
struct Common {
  std::uint64_t seed = 1;
  int threads = 0;
  std::string task_file;
  std::string images, pair_images;
  std::string feature_cache;  // a folder, or none
  std::string training_rows;
  std::string trees;  // all, best or nothing
  bool allow_torchscript = false;
  bool json = false;
};

// The thread pool and the progress line of one run. exec() is valid while this lives.
class Session {
 public:
  explicit Session(const Common& common);
  ~Session();
  [[nodiscard]] const Exec& exec() const { return exec_; }
  [[nodiscard]] double seconds() const;
  // What the run has said on stderr: sentences of Exec::note, each once.
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }
  [[nodiscard]] static double cpu_seconds();

 private:
  ThreadPool pool_;
  std::optional<Progress> progress_;
  std::vector<std::string> notes_;
  std::function<void(const std::string&)> note_;
  Exec exec_;
  double start_;
};

// While it lives, options that are added to the command stand below this heading in its
// help. Those without a topic come first: what most people need.
class Topic {
 public:
  Topic(CLI::App& command, const std::string& heading)
      : command_(command), before_(command.option_defaults()->get_group()) {
    command.option_defaults()->group(heading);
  }
  ~Topic() { command_.option_defaults()->group(before_); }
  Topic(const Topic&) = delete;
  Topic& operator=(const Topic&) = delete;

 private:
  CLI::App& command_;
  std::string before_;
};

void add_common(CLI::App& command, Common& common);
// --label, --positive, --favorable, --threshold, --attribute, --pairs, --id, ...
void add_task_options(CLI::App& command, TaskOverrides& flags);
// --label, --positive, --favorable, --attribute, --category, --id, --weight, --ignore: what
// the columns of a table are.
void add_column_options(CLI::App& command, TaskOverrides& flags);
// --match-columns, --caliper, --reuse
void add_match_options(CLI::App& command, TaskOverrides& flags);
// --layers of a network: a number, or all. Throws Error(bad_option).
[[nodiscard]] Index parse_layers(const std::string& text, const Model& model);
// --guard-formulas, for commands that write CSV.
void add_guard(CLI::App& command, bool& guard);
void add_groups_options(CLI::App& command, GroupsFile& groups);

// --ledger
void add_ledger_option(CLI::App& command, std::string& ledger);
// Adds this look at the rows to the ledger, if one is named, before they are looked at.
[[nodiscard]] std::optional<LedgerCount> note_look(const std::string& ledger,
                                                   const std::string& command,
                                                   const std::string& data,
                                                   const std::string& model,
                                                   const Exec& exec);

// What task.toml and the flags say about a task.
[[nodiscard]] TaskChanges task_changes(const Common& common, const TaskOverrides& flags);
// The task of the model (or none), changed by task.toml, then by flags.
[[nodiscard]] Task effective_task(Task task, const Common& common,
                                  const TaskOverrides& flags);
// The same, given to the model together with the files that its inputs are made of.
void apply_task(Model& model, const Common& common, const TaskOverrides& flags,
                const std::string& data, const Exec& exec);
// --images, --pair-images, --feature-cache, --allow-torchscript, --trees
void add_inputs_options(CLI::App& command, Common& common);
// --feature-cache alone
void add_feature_cache(CLI::App& command, Common& common);
// --allow-torchscript, --trees
void add_formats_options(CLI::App& command, Common& common);
// Where the inputs are, by these options.
[[nodiscard]] InputFiles input_files(const Common& common);
// The kinds of model files that the command opens.
[[nodiscard]] ModelFormats formats(const Common& common);
// --training-rows
void add_rows_option(CLI::App& command, Common& common);
// The model file, with the training rows that --training-rows names.
[[nodiscard]] std::unique_ptr<ModelFile> open_file(const Common& common,
                                                   const std::string& path);

// DATA of a command: a file, or data:NAME, with the groups joined.
[[nodiscard]] DataSource data_source(const std::string& name,
                                     const GroupsFile& groups = {});
// A table from a file, or by name ("data:adult", "data:adult/test").
[[nodiscard]] Table read_data(const std::string& name, const CsvOptions& options = {},
                              const Exec& exec = {});
[[nodiscard]] std::string file_sha256(const std::string& name);  // "" for data sets by name
[[nodiscard]] std::filesystem::path data_folder();

// Data on stdout. On a terminal, what would steer the terminal is written as escaped text;
// files and pipes get every byte as it is. Throws Error(cannot_write) when it could not be
// written.
void print(const std::string& text);
// For OutputFiles, in commands whose -o may be "-": that is stdout. Throws
// Error(bad_option) when it is used together with --json.
[[nodiscard]] std::function<void(std::string_view)> standard_output(const Common& common);
// To be called once, after everything was printed: what was held back is written now.
// Throws the same.
void finish_stdout();
// The same for JSON. Bytes that are not UTF-8, such as those of a file's name, are written
// as escaped text (\xff).
void print(const nlohmann::ordered_json& json);
// A line of words on stdout. Names in it are made safe to show.
void print_line(const std::string& text);
// A line of words on stderr. Names in it are made safe to show.
void say(const std::string& text);
[[nodiscard]] std::string now_utc();
[[nodiscard]] std::string with_commas(Index count);  // 10,000

// The work of a command. It returns the exit code.
using Work = std::function<int()>;
// Registers `work` to run when the command was parsed.
void on_run(CLI::App& command, Work work);
[[nodiscard]] Work& chosen_work();

}  // namespace fmd::cli
