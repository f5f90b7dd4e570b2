#include "fmd/data/datasets.h"

#include <fmt/format.h>

#include "data/dataset_tables.h"
#include "data/gzip.h"
#include "data/sample.h"
#include "data/words.h"
#include "fmd/core/error.h"
#include "fmd/core/file.h"
#include "fmd/data/csv.h"

namespace fmd {
namespace {

Task make_task(const std::string& label, std::vector<std::string> classes,
               const std::string& favorable, const std::vector<std::string>& attributes) {
  Task task;
  task.label = label;
  task.classes = std::move(classes);
  task.favorable = favorable;
  for (const std::string& name : attributes)
    task.attributes.push_back({.name = name, .columns = {name}});
  return task;
}

constexpr const char* kFolktables =
    "US Census Bureau, American Community Survey 2018, by way of folktables' ACSIncome";

Dataset demo() {
  return {.name = "demo",
          .title = "30,000 US workers of 2018: is the income above $50,000?",
          .source = std::string("built in; ") + kFolktables,
          .rows = 30000,
          .files = {},
          .task = make_task("income", {"<=50000", ">50000"}, ">50000", {"sex", "race"})};
}

Dataset adult() {
  return {.name = "adult",
          .title = "US census of 1994: is the income above $50,000?",
          .source = "UCI Machine Learning Repository, data set Adult (Census Income)",
          .rows = 45222,
          .files = {{"adult/adult.data",
                     "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d"},
                    {"adult/adult.test",
                     "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05"}},
          .task = make_task("income", {"<=50K", ">50K"}, ">50K", {"sex", "race"})};
}

Dataset hmda() {
  return {.name = "hmda",
          .title = "Boston mortgage applications of 1990: was the loan denied?",
          .source = "R package AER, data set HMDA, written as CSV",
          .rows = 2380,
          .files = {{"hmda/HMDA.csv",
                     "a15569bb883491fb3e4618fd3b4e3cdbf9a04b92e15c8282e8e060530b848429"}},
          .task = make_task("deny", {"no", "yes"}, "no", {"afam"})};
}

Dataset german() {
  return {.name = "german",
          .title = "German credit applications: good or bad risk?",
          .source =
              "UCI Machine Learning Repository, data set Statlog (German Credit Data); as "
              "CSV with a header: GitHub algofairness/fairness-comparison, "
              "fairness/data/raw/german.csv",
          .rows = 1000,
          .files = {{"german_credit/german.csv",
                     "532082711a8ec4df65cf60775eb7d59d3a5e3458c5a88695630beffd96dfff86"}},
          .task = make_task("credit", {"bad", "good"}, "good", {"sex", "foreign_worker"})};
}

Dataset acs() {
  Dataset set = {
      .name = "acs",
      .title = "332,900 US workers of 2018: is the income above $50,000?",
      .source = std::string(kFolktables) +
                "; the test fifth: GitHub dssg/aequitas, "
                "datasets/FolkTables/ACSIncome.test.parquet, written as CSV",
      .rows = 332900,
      .files = {{"acs_income/ACSIncome.test.csv.gz",
                 "b26ad4d5e45c236b46cec27ce221098a443d6a534e32d846c841fc1b46ebf9ce"}},
      .task = make_task("income", {"<=50000", ">50000"}, ">50000", {"sex", "race"})};
  for (const char* name : {"COW", "SCHL", "MAR", "OCCP", "POBP", "RELP"})
    set.task.types[name] = ColumnKind::category;
  return set;
}

// The file's text, after its checksum.
std::string verified_text(const Dataset& set, const DatasetFile& file,
                          const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / file.path;
  if (folder.empty() || !std::filesystem::is_regular_file(path)) {
    const std::string where = folder.empty()
                                  ? "no data folder is set"
                                  : fmt::format("{} is not there", path.string());
    throw Error(ErrorKind::missing_dataset,
                fmt::format("data set \"{}\": {}; needs {} with sha256 {}", set.name, where,
                            file.path, file.sha256),
                fmt::format("put it below the data folder; source: {}", set.source));
  }
  const FileView view = FileView::open(path);
  const std::string found = hex(sha256(view.bytes()));
  if (found != file.sha256) {
    throw Error(ErrorKind::wrong_checksum,
                fmt::format("data set \"{}\": {} has sha256 {}, needs {}", set.name,
                            path.string(), found, file.sha256),
                fmt::format("get the original again; source: {}", set.source));
  }
  if (!is_gzip(view.bytes())) return std::string(view.text());
  return gunzip(view.bytes(), path.string(), Index{1} << 30);
}

}  // namespace

const std::vector<Dataset>& datasets() {
  static const std::vector<Dataset> kSets = {demo(), adult(), hmda(), german(), acs()};
  return kSets;
}

const Dataset& find_dataset(const std::string& name) {
  std::vector<std::string> names;
  for (const Dataset& set : datasets()) {
    if (set.name == name) return set;
    names.push_back(set.name);
  }
  throw Error(ErrorKind::bad_option, fmt::format("no data set \"{}\"; there are {}",
                                                 shorten(name), list_words(names)));
}

Table load_dataset(const std::string& name, const std::filesystem::path& data_folder,
                   const std::string& part) {
  const Dataset& set = find_dataset(name);
  if (!part.empty() && !(name == "adult" && (part == "train" || part == "test"))) {
    throw Error(
        ErrorKind::bad_option,
        fmt::format("data set \"{}\" has no part \"{}\"; {}", name, shorten(part),
                    name == "adult" ? "its parts are train and test" : "it has no parts"));
  }
  if (set.files.empty()) {
    return parse_csv(gunzip({kAcsIncomeSample, kAcsIncomeSampleSize}, name, Index{1} << 30),
                     name);
  }
  std::vector<std::string> texts;
  for (const DatasetFile& file : set.files) {
    const bool other = (part == "train" && file.path.ends_with(".test")) ||
                       (part == "test" && file.path.ends_with(".data"));
    if (!other) texts.push_back(verified_text(set, file, data_folder));
  }
  if (name == "adult") return adult_table(texts);
  if (name == "german") return german_table(texts[0]);
  if (name == "acs") return acs_table(texts[0]);
  return parse_csv(texts[0], name);
}

}  // namespace fmd
