#pragma once

#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fmd/data/input_spec.h"
#include "fmd/data/limit.h"
#include "fmd/data/pair_kind.h"
#include "fmd/data/table.h"

namespace fmd {

// The file that a task stands in, such as a model or a receipt; empty = the user named it.
// The place makes no task another one: all are equal.
struct StoredIn {
  std::filesystem::path file = {};
  bool operator==(const StoredIn&) const { return true; }
};

// An attribute that is checked for bias: does the model use it?
struct AttributeSpec {
  std::string name;
  std::vector<std::string> columns = {};  // the columns that carry it; usually just {name}
  std::string pairs = "flip";             // flip | given:FILE | match | match:overlap |
                                          // match:mahalanobis | match:cosine
  std::vector<std::string> values = {};   // to flip between and to compare; empty = all
  std::string reference = "";             // groups are compared with it; empty = none
  Index quantiles = 0;  // of a number: this many ranges with equal shares; 0 = none
  std::vector<double> cuts = {};  // of a number: where ranges begin, ascending
  // For matched pairs only (see pipeline/match_plan.h):
  std::vector<std::string> match_columns = {};  // overlap: the columns that are compared
  std::string caliper = "";  // no pair further apart: "0.5", or "1sd"; empty = none
  Index reuse = 5;           // how often one row may be a partner; 0 = no limit
  StoredIn stored_in = {};   // where given:FILE stands
  // Columns of 0 and 1 that are one attribute together: names or patterns (race_*). Then
  // `columns` is empty, and the values are the texts after the columns' common prefix.
  std::vector<std::string> one_hot = {};

  bool operator==(const AttributeSpec&) const = default;
};

// "race=race_*" or "race=race_a,race_b": an attribute of several columns of 0 and 1. Throws
// Error(bad_option).
[[nodiscard]] AttributeSpec parse_one_hot(const std::string& text);

// "sex", or "age:4" for four quantiles of a number. Throws Error(bad_option).
[[nodiscard]] AttributeSpec parse_attribute(const std::string& text);

// What spec.pairs says. Throws Error(bad_option).
[[nodiscard]] PairsText pairs_of(const AttributeSpec& spec);
// True when the attribute's pairs are matched. match_by is the distance: what the text
// says, otherwise "overlap" where match_columns are named, otherwise "mahalanobis".
[[nodiscard]] bool is_match(const AttributeSpec& spec);
[[nodiscard]] std::string match_by(const AttributeSpec& spec);

// The file of given:FILE. A user may name any file. A task that is stored in a file may
// name a file beside that file by its plain name (core/beside.h): Error(bad_task)
// otherwise.
[[nodiscard]] std::filesystem::path pairs_file(const AttributeSpec& spec);

// The largest distance of a matched pair: a number, or the mean of the nearest distances
// plus that many of their standard deviations. Infinite = no limit. parse_caliper throws
// Error(bad_option).
struct Caliper {
  double value = std::numeric_limits<double>::infinity();
  bool deviations = false;
};
[[nodiscard]] Caliper parse_caliper(const std::string& text);

// What happens with categories that the encoder has not seen.
//   error    an error that names the cell
//   bucket   a separate feature that is 0 in training, so that the model answers as for
//            "none of these"
//   counted  the same without that feature: no level is set; where two levels share one
//            feature, that has its training mean. What training sees does not change.
enum class Unseen { error, bucket, counted };

// What is predicted, which answer is good for a person, and which attributes are checked.
// It comes from flags, task.toml and the model, in this order of precedence (see merge).
struct Task {
  std::string label;                 // column of the label; empty = no labels
  std::vector<std::string> classes;  // label values in order of the model's outputs; for
                                     // two classes {negative, positive}
  std::string favorable;       // the class that is good for the person; default: positive
                               // of two classes, none of many
  double threshold = 0.5;      // two classes: positive when p(positive) >= threshold
  std::optional<double> rate;  // train: choose the threshold so that this share of the
                               // training rows is answered positive
  std::vector<AttributeSpec> attributes;
  std::string weight;               // column of row weights; empty = 1
  std::string id;                   // column that joins given pairs and groups
  std::vector<std::string> ignore;  // columns that are not inputs
  std::map<std::string, ColumnKind> types;
  std::vector<std::string> missing = {};  // texts that mean "missing", besides "" and "?"
  Unseen unseen = Unseen::error;
  std::vector<Limit> limits;
  std::vector<InputSpec> inputs;  // of models that do not know columns by themselves
  Index min_group = 100;          // smaller groups are listed, not compared
  Index min_label = 20;  // fewer favourable (or unfavourable) labels: no TPR (or FPR)

  [[nodiscard]] bool binary() const { return classes.size() == 2; }
  // Position in classes, -1 when there is none.
  [[nodiscard]] int favorable_class() const;
  [[nodiscard]] const AttributeSpec* find(const std::string& attribute) const;

  bool operator==(const Task&) const = default;
};

// What flags or a task.toml say. What they leave out stays as it was.
struct TaskOverrides {
  std::optional<std::string> label = {};
  std::optional<std::string> positive = {};
  std::optional<std::string> favorable = {};
  std::optional<std::string> threshold = {};  // "0.3", "rate=.2"
  std::optional<std::string> weight = {};
  std::optional<std::string> id = {};
  std::optional<std::vector<std::string>> attributes = {};  // names, or full specs below
  std::optional<std::vector<AttributeSpec>> attribute_specs = {};
  std::optional<std::vector<std::string>> ignore = {};
  std::optional<std::vector<std::string>> classes = {};
  std::optional<std::string> pairs = {};
  std::optional<std::vector<std::string>> match_columns = {};  // these three of all
  std::optional<std::string> caliper = {};                     // attributes
  std::optional<Index> reuse = {};
  std::optional<std::string> unseen = {};
  std::optional<std::map<std::string, ColumnKind>> types = {};
  std::optional<std::vector<std::string>> category = {};  // columns of that type
  std::optional<std::vector<std::string>> missing = {};
  std::optional<std::vector<std::string>> one_hot = {};  // "race=race_*"
  std::optional<std::vector<Limit>> limits = {};
  std::optional<std::vector<InputSpec>> inputs = {};
  std::optional<Index> min_group = {};
  std::optional<Index> min_label = {};
};

// Reads task.toml. Keys: label, positive, classes, favorable, threshold (number or
// "rate=R"), weight, id, ignore, missing, unseen, min_group, min_label, [types],
// [[attributes]] (name, columns, pairs, values, reference, quantiles, cuts, one_hot,
// match_columns, caliper, reuse) or attributes = ["sex", "race"], [limits] ("co:sex" =
// 0.02), [[inputs]] (see InputSpec; a tensor's file is looked for beside task.toml). Throws
// Error(bad_task) with file, line and key. An unknown key is an error that lists the keys.
[[nodiscard]] TaskOverrides read_task(const std::filesystem::path& path);
[[nodiscard]] TaskOverrides parse_task(std::string_view text, const std::string& source);

// The task with the overrides applied. A list of attributes replaces the task's list; an
// attribute that is only named keeps what the task knew about it. `positive` swaps two
// known classes so that it comes last; while no classes are known it changes nothing
// (label_classes takes it). Types are added. Throws Error(bad_option) for a value that
// makes no sense (threshold outside (0, 1), positive not a class) and Error(bad_task) when
// the result contradicts itself (favorable not a class, an attribute that is the label).
[[nodiscard]] Task merge(Task task, const TaskOverrides& overrides);

// JSON text, for the model file's `fmd.task` metadata and for receipts. Doubles are
// restored exactly. task_from_json throws Error(bad_model) that names the source for
// anything that to_json cannot write.
[[nodiscard]] std::string to_json(const Task& task);
[[nodiscard]] Task task_from_json(const std::string& text, const std::string& source);

// The label of every row as a class number; -1 where the label is missing. Throws
// Error(missing_column), and Error(bad_value) that names the row and the classes when a
// label is unknown.
[[nodiscard]] std::vector<std::int32_t> labels(const Table& table, const Task& task);

// Label values of a training table in a stable order: two classes {negative, positive} with
// `positive` last when it is given; otherwise sorted, numbers by value and texts by text.
// Throws Error(bad_data) when there are fewer than two, and Error(bad_option) when positive
// is not one of them.
[[nodiscard]] std::vector<std::string> label_classes(const Table& table,
                                                     const std::string& label,
                                                     const std::string& positive);

}  // namespace fmd
