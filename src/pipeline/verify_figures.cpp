#include "pipeline/verify_figures.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "fmd/core/error.h"
#include "fmd/pipeline/read.h"
#include "model/half.h"
#include "pipeline/contenders.h"
#include "pipeline/repair_cut.h"
#include "pipeline/repair_parts.h"
#include "report/debias_report.h"
#include "report/json_difference.h"

namespace fmd::internal {
namespace {

bool are_halves(const Vector& theta) {
  return std::all_of(theta.begin(), theta.end(), [](double value) {
    return from_half(to_half(static_cast<float>(value))) == value;
  });
}

// A block of the receipt by a dotted name; null when it is absent.
Json block(const Json& json, const std::string& name) {
  const std::size_t dot = name.find('.');
  const std::string key = name.substr(0, dot);
  if (!json.is_object() || !json.contains(key)) return nullptr;
  return dot == std::string::npos ? json[key] : block(json[key], name.substr(dot + 1));
}

// Equal groups have no first one: earlier releases named them in another order.
void keep_order(Json& now, const Json& claimed) {
  const double value = now["value"].is_number() ? now["value"].get<double>() : kUndefined;
  if ((value == 0 || value == 1) && now["first"] == claimed["second"] &&
      now["second"] == claimed["first"])
    std::swap(now["first"], now["second"]);
}

// An earlier release said less: what it did not say is no difference.
void keep_known(Json& now, const Json& claimed) {
  if (now.is_object() && claimed.is_object()) {
    if (now.contains("first") && now.contains("value") && claimed.contains("second"))
      keep_order(now, claimed);
    std::vector<std::string> more;
    for (auto& [key, value] : now.items())
      claimed.contains(key) ? keep_known(value, claimed[key]) : more.push_back(key);
    for (const std::string& key : more) now.erase(key);
  } else if (now.is_array() && claimed.is_array() && now.size() == claimed.size()) {
    for (std::size_t i = 0; i < now.size(); ++i) keep_known(now[i], claimed[i]);
  }
}

std::string needs(const std::string& file) { return file + " is needed, see above"; }

class Figures {
 public:
  Figures(const Receipt& receipt, const std::vector<FoundFile>& files,
          const VerifyOptions& options, const Exec& exec, VerifyReport& report)
      : receipt_(receipt),
        files_(files),
        tolerance_(options.tolerance),
        folder_(options.data_folder),
        complete_(options.complete),
        inputs_(options.inputs),
        exec_(exec),
        report_(report),
        claims_(claims_of(receipt.json)) {}

  void run(std::optional<Model> before, std::optional<Model> after) {
    if (!before || !after) {
      for (const char* what : {"repair", "figures, hold-out", "figures, test"})
        skip(what, "the models are needed, see above");
      return;
    }
    try {
      read_settings(*before, *after);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::bad_option) throw;
      return cannot_repeat(error);
    }
    if (missing({"edit", "edit and hold-out", "hold-out", "train"}).empty())
      repeat();
    else
      measure();
  }

 private:
  // Task, options and seed as recorded, and where files of pairs and groups are now.
  void read_settings(Model& before, Model& after) {
    const ParsedOptions parsed =
        parse_options(block(receipt_.json, "options").dump(), receipt_.name());
    options_ = parsed.options;
    exec_.seed = parsed.seed;
    Task task = task_from_json(block(receipt_.json, "task").dump(),
                               receipt_.files.receipt.string());
    for (AttributeSpec& spec : task.attributes) {
      const auto [kind, file, by] = pairs_of(spec);
      for (const FoundFile& found : files_)
        if (found.usable && kind == PairKind::given && by == GivenBy::file &&
            file == found.note.name) {
          spec.pairs = "given:" + found.file;
          spec.stored_in = {};  // found by the rule for names in receipts, or by the user
        }
    }
    // A receipt comes from somebody else: its tensors are looked for beside it.
    for (InputSpec& spec : task.inputs)
      if (!spec.tensor.empty())
        spec.tensor = (receipt_.files.receipt.parent_path() /
                       std::filesystem::path(spec.tensor).filename())
                          .string();
    set_task(before, task, inputs_);
    set_task(after, task, inputs_);
    options_.task.inputs = inputs_;
    if (const FoundFile* groups = find_role(files_, "groups"); groups != nullptr)
      groups_ = {groups->file, groups->note.key};
    after_ = std::move(after);
    before_ = std::move(before);
  }

  // The first file of these roles, or of those that every table needs, that is not usable.
  [[nodiscard]] std::string missing(std::vector<std::string> roles) const {
    roles.insert(roles.end(), {"groups", "pairs"});
    for (const FoundFile& found : files_)
      if (!found.usable &&
          std::find(roles.begin(), roles.end(), found.note.role) != roles.end())
        return found.note.name;
    return "";
  }

  // The rows of a role under their recorded name; none where there is no such file.
  std::optional<DataSource> rows(const std::string& role) const {
    const FoundFile* found = find_role(files_, role);
    if (found == nullptr || !found->usable) return std::nullopt;
    Table read = read_for(before_, before_.task,
                          DataSource::file(found->file, folder_).joined(groups_), exec_);
    read.source = found->note.name;
    if (complete_) complete_(read);
    return DataSource::table(std::move(read), found->note.sha256);
  }

  // DATA. The other rows become options.
  DataSource read_rows() {
    std::optional<DataSource> data = rows("edit and hold-out");
    if (!data) data = rows("edit");
    if (!data)
      throw Error(ErrorKind::bad_model,
                  fmt::format("{}: no data are recorded", receipt_.name()),
                  "name the receipt that `fmd debias` wrote");
    options_.holdout = rows("hold-out");
    options_.train = rows("train");
    options_.test = rows("test");
    return *data;
  }

  // Everything again, from the recorded options and seed.
  void repeat() {
    const FoundFile* test = find_role(files_, "test");
    const bool test_missing = test != nullptr && !test->usable;
    try {
      const DataSource data = read_rows();
      const DebiasRun run(ModelInMemory(before_), data, options_, exec_);
      compare_parameters(run);
      const Json now = expected(run.measure(after_));
      compare("choice", now, {"chosen", "repaired", "rows", "folds"});
      compare("solve", now, {"solve", "leaves"});
      compare("figures, hold-out", now, {"measures.holdout"});
      if (test_missing) {
        skip("figures, test", needs(test->note.name));
        skip("moved, controls", "they are measured on the test rows");
        return;
      }
      compare("rows, overlaps", now, {"data", "overlaps", "optimistic"});
      if (options_.test) compare("figures, test", now, {"measures.test", "rule"});
      compare("what moved", now, {"moved", "accuracy_change", "attribute_use"});
      compare("controls", now, {"controls", "dropping_the_column"});
      compare_rest(now);
    } catch (const Error& error) {
      cannot_repeat(error);
    }
  }

  // What the receipt should say, in its own schema.
  [[nodiscard]] Json expected(DebiasReport report) const {
    report.model_sha256 = receipt_.sha256_before;  // checked in their own lines
    report.out_sha256 = receipt_.sha256_after;
    report.model_files = receipt_.model_files;
    Json now = claims_of(Json::parse(receipt_json(report, {})));
    now["data"] = with_joined_files(now["data"]);
    if (receipt_.schema() == 1) {
      now["schema"] = 1;
      now["optimistic"] = optimistic_in_schema_1(report);
      keep_known(now, claims_);
    }
    return now;
  }

  // Files of groups and of given pairs are joined before the repair is made again; their
  // sums have lines of their own.
  [[nodiscard]] Json with_joined_files(const Json& files) const {
    const auto joined = [](const Json& file) {
      const std::string role = file.is_object() ? file.value("role", "") : "";
      return role == "groups" || role == "pairs";
    };
    std::vector<Json> tables;
    for (const Json& file : files)
      if (!joined(file)) tables.push_back(file);
    Json all = Json::array();
    std::size_t next = 0;
    for (const Json& claimed : block(claims_, "data")) {
      if (joined(claimed))
        all.push_back(claimed);
      else if (next < tables.size())
        all.push_back(tables[next++]);
    }
    for (; next < tables.size(); ++next) all.push_back(tables[next]);
    return all;
  }

  static bool optimistic_in_schema_1(const DebiasReport& report) {
    const DataNote& data = report.data[0];
    return static_cast<double>(data.overlap) >
           data.by_chance + 4 * std::sqrt(data.by_chance + 1);
  }

  // Every other key of the receipt: none is left out because nobody thought of it.
  void compare_rest(const Json& now) {
    std::vector<std::string> rest;
    for (const Json& json : {claims_, now})
      for (const auto& [key, value] : json.items())
        if (!compared_.contains(key) &&
            std::find(rest.begin(), rest.end(), key) == rest.end())
          rest.push_back(key);
    compare("everything else", now, rest);
  }

  void cannot_repeat(const Error& error) {
    add({"repair", CheckResult::differs,
         fmt::format("cannot be made again: {}", error.what()), true});
  }

  void compare_parameters(const DebiasRun& run) {
    const Vector& theirs = after_.theta;
    const Vector& ours = run.model().theta;
    if (theirs.size() != ours.size() || !run.found()) {
      add({"repair", CheckResult::differs, "the repeated repair finds no such candidate",
           true});
      return;
    }
    // A file of float16 numbers holds them rounded: half of their last place is no
    // difference.
    const bool halves = are_halves(theirs) && are_halves(before_.theta);
    double largest = 0;
    for (Index j = 0; j < ours.size(); ++j) {
      const double size = std::abs(theirs[j]);
      const double rounding = halves ? std::max(std::ldexp(size, -11), 0x1p-25) : 0;
      const double off = std::max(0.0, std::abs(ours[j] - theirs[j]) - rounding);
      largest = std::max(largest, off / std::max(1.0, size));
    }
    report_.largest_difference = std::max(report_.largest_difference, largest);
    const bool same = largest <= tolerance_;
    add({"repair", same ? CheckResult::ok : CheckResult::differs,
         fmt::format("made again from the recorded options and seed {}: {} parameters, "
                     "largest difference {:.1g}",
                     exec_.seed, ours.size(), largest),
         true});
  }

  // Without the training rows the repair cannot be repeated, but its effect can be
  // measured.
  void measure() {
    before_ = cut_for_repair(before_, options_, 0);
    after_ = cut_for_repair(after_, options_, 0);
    const std::string why = missing({"edit", "edit and hold-out", "hold-out", "train"});
    skip("repair", needs(why));
    skip("choice, controls", "they need the repair");
    const std::string no_data = missing({"edit", "edit and hold-out", "hold-out"});
    const std::string no_test = missing({"test"});
    if (no_data.empty()) {
      const DataSource data = read_rows();
      const RepairParts parts(before_, read_repair(before_, data, options_, exec_),
                              options_, exec_);
      std::optional<Study> own;
      compare_audits("hold-out", parts.holdout_study(before_, exec_, own),
                     parts.problem.folds.empty());
    } else {
      skip("figures, hold-out", needs(no_data));
    }
    if (!no_test.empty()) {
      skip("figures, test", needs(no_test));
    } else if (const std::optional<DataSource> test = rows("test")) {
      compare_audits("test", labelled_study(before_, test->read({}, exec_), "", exec_));
    }
  }

  // Cross-fitted figures after the repair need the repair.
  void compare_audits(const std::string& part, const Study& study, bool after = true) {
    const std::vector<Contender> all =
        audit_all(before_, after_, {}, study, options_.audit, exec_);
    const std::string name = part == "test" ? "test" : "holdout";
    Json now;
    now["measures"][name] = {{"before", measures_json(*all[0].audit)},
                             {"after", measures_json(*all[1].audit)}};
    std::vector<std::string> names = {"measures." + name + ".before"};
    if (after) names.push_back("measures." + name + ".after");
    compare("figures, " + part + (after ? "" : ", before"), now, names);
    if (!after) skip("figures, " + part + ", after", "they need the repair");
  }

  void compare(const std::string& what, const Json& now,
               const std::vector<std::string>& names) {
    JsonDifference found;
    for (const std::string& name : names) {
      compared_.insert(name);
      add_differences(name, block(claims_, name), block(now, name), tolerance_, found);
    }
    report_.largest_difference = std::max(report_.largest_difference, found.largest);
    if (found.differing == 0) {
      add({what, CheckResult::ok,
           fmt::format("{} number{}, largest difference {:.1g}", found.compared,
                       found.compared == 1 ? "" : "s", found.largest),
           true});
      return;
    }
    const std::string more =
        found.differing > 1 ? fmt::format("; {} more", found.differing - 1) : "";
    add({what, CheckResult::differs, found.first + more, true});
  }

  void skip(const std::string& what, const std::string& why) {
    add({what, CheckResult::unchecked, why, true});
  }
  void add(Check check) { report_.checks.push_back(std::move(check)); }

  const Receipt& receipt_;
  const std::vector<FoundFile>& files_;
  double tolerance_;
  std::filesystem::path folder_;
  std::function<void(Table&)> complete_;
  InputFiles inputs_;
  Exec exec_;
  VerifyReport& report_;
  Json claims_;
  std::set<std::string> compared_;  // parts of the receipt
  DebiasOptions options_;
  GroupsFile groups_;
  Model before_, after_;
};

}  // namespace

void verify_figures(const Receipt& receipt, const std::vector<FoundFile>& files,
                    std::optional<Model> before, std::optional<Model> after,
                    const VerifyOptions& options, const Exec& exec, VerifyReport& report) {
  Figures(receipt, files, options, exec, report).run(std::move(before), std::move(after));
}

}  // namespace fmd::internal
