#include "fmd/data/datasets.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "fmd/core/error.h"
#include "fmd/data/attribute.h"
#include "fmd/data/encoder.h"
#include "support/close.h"

namespace fmd {
namespace {

namespace fs = std::filesystem;
using Texts = std::vector<std::string>;
using Counts = std::vector<Index>;

std::string data_folder() {
  const char* folder = std::getenv("FMD_DATA");
  return folder == nullptr ? "" : folder;
}

bool has(const std::string& name) {
  const auto& files = find_dataset(name).files;
  return std::all_of(files.begin(), files.end(), [](const DatasetFile& file) {
    return fs::is_regular_file(fs::path(data_folder()) / file.path);
  });
}

#define SKIP_WITHOUT(name) \
  if (!has(name))          \
  GTEST_SKIP() << "set FMD_DATA to a folder with " << find_dataset(name).files[0].path

// Rows per class, after the checks that hold for every data set.
Counts class_counts(const std::string& name, const Table& table) {
  const Task& task = find_dataset(name).task;
  for (const AttributeSpec& spec : task.attributes)
    EXPECT_GE(read_attribute(table, spec).values.size(), 2U);
  EXPECT_GE(task.favorable_class(), 0);
  Counts counts(task.classes.size(), 0);
  for (const std::int32_t label : labels(table, task))
    ++counts.at(static_cast<std::size_t>(label));
  return counts;
}

Texts inputs(const Table& table, const Task& task) {
  Texts names;
  for (const Column& column : table.columns)
    if (column.name != task.label) names.push_back(column.name);
  return names;
}

TEST(Datasets, TheDemoIsBuiltIn) {
  const Table table = load_dataset("demo", "");
  EXPECT_EQ(table.rows(), 30000);
  EXPECT_EQ(table.columns.size(), 11U);
  EXPECT_EQ(table.column("age").kind, ColumnKind::number);
  const Attribute sex = read_attribute(table, *find_dataset("demo").task.find("sex"));
  EXPECT_EQ(sex.values, (Texts{"Male", "Female"}));
  EXPECT_EQ(sex.counts(), (Counts{15618, 14382}));
  const Counts counts = class_counts("demo", table);
  EXPECT_NEAR(static_cast<double>(counts[1]) / 30000, 0.370, 0.0005);
}

TEST(Datasets, UnknownNamesAndPartsAreErrors) {
  EXPECT_ERROR(load_dataset("adlut", ""), ErrorKind::bad_option,
               "no data set \"adlut\"; there are demo, adult, hmda, german, acs");
  EXPECT_ERROR(load_dataset("demo", "", "train"), ErrorKind::bad_option, "it has no parts");
  EXPECT_ERROR(load_dataset("adult", "", "valid"), ErrorKind::bad_option,
               "its parts are train and test");
}

TEST(Datasets, ImagesAreNoTable) {
  ASSERT_EQ(image_datasets().size(), 1U);
  EXPECT_FALSE(is_present(image_datasets()[0], ""));
  EXPECT_ERROR(load_dataset("mnist", ""), ErrorKind::bad_option,
               "data set \"mnist\" holds images, not a table");
}

TEST(Datasets, AMissingFileNamesFolderFileAndSource) {
  EXPECT_ERROR(load_dataset("hmda", "no/folder"), ErrorKind::missing_dataset,
               "no/folder/hmda/HMDA.csv is not there");
  EXPECT_ERROR(load_dataset("hmda", ""), ErrorKind::missing_dataset,
               "no data folder is set");
  EXPECT_ERROR(load_dataset("hmda", "x"), ErrorKind::missing_dataset, "R package AER");
}

TEST(Datasets, AnEditedFileIsRefused) {
  const fs::path folder = fs::temp_directory_path() / "fmd_datasets_test";
  fs::create_directories(folder / "hmda");
  std::ofstream(folder / "hmda/HMDA.csv") << "deny,afam\nno,no\n";
  EXPECT_ERROR(load_dataset("hmda", folder), ErrorKind::wrong_checksum,
               "needs a15569bb883491fb3e4618fd3b4e3cdbf9a04b92e15c8282e8e060530b848429");
  fs::remove_all(folder);
}

TEST(Datasets, AdultIsPreparedAsByAif360) {
  SKIP_WITHOUT("adult");
  const Task& task = find_dataset("adult").task;
  const Table all = load_dataset("adult", data_folder());
  const Table train = load_dataset("adult", data_folder(), "train");
  const Table test = load_dataset("adult", data_folder(), "test");
  EXPECT_EQ(all.rows(), 45222);
  EXPECT_EQ(train.rows(), 30162);
  EXPECT_EQ(test.rows(), 15060);
  // Counts of the complete rows, by grep over the files.
  EXPECT_EQ(class_counts("adult", train), (Counts{22654, 7508}));
  EXPECT_EQ(class_counts("adult", test), (Counts{11360, 3700}));
  EXPECT_EQ(class_counts("adult", all), (Counts{34014, 11208}));
  EXPECT_EQ(read_attribute(all, *task.find("race")).values, (Texts{"White", "Non-white"}));
  const Encoder encoder(all, inputs(all, task), {}, Unseen::error);
  EXPECT_EQ(encoder.features(), 98);
  EXPECT_EQ(encoder.encode(all).rows(), 45222);
  EXPECT_EQ(all.find("fnlwgt"), nullptr);
}

TEST(Datasets, Hmda) {
  SKIP_WITHOUT("hmda");
  const Table table = load_dataset("hmda", data_folder());
  EXPECT_EQ(table.rows(), 2380);
  EXPECT_EQ(class_counts("hmda", table), (Counts{2095, 285}));
  EXPECT_EQ(find_dataset("hmda").task.favorable_class(), 0);
  EXPECT_EQ(read_attribute(table, *find_dataset("hmda").task.find("afam")).counts(),
            (Counts{2041, 339}));
  EXPECT_EQ(table.column("chist").kind, ColumnKind::number);
}

TEST(Datasets, German) {
  SKIP_WITHOUT("german");
  const Table table = load_dataset("german", data_folder());
  EXPECT_EQ(table.rows(), 1000);
  EXPECT_EQ(class_counts("german", table), (Counts{300, 700}));
  const Task& task = find_dataset("german").task;
  EXPECT_EQ(read_attribute(table, *task.find("sex")).values, (Texts{"male", "female"}));
  EXPECT_EQ(read_attribute(table, *task.find("sex")).counts(), (Counts{690, 310}));
  EXPECT_EQ(read_attribute(table, *task.find("foreign_worker")).counts(),
            (Counts{963, 37}));
  EXPECT_EQ(table.find("personal_status"), nullptr);
}

TEST(DatasetsSlow, AcsIncome) {
  SKIP_WITHOUT("acs");
  const Table table = load_dataset("acs", data_folder());
  EXPECT_EQ(table.rows(), 332900);
  const Counts counts = class_counts("acs", table);
  EXPECT_EQ(counts[0] + counts[1], 332900);
  EXPECT_EQ(read_attribute(table, *find_dataset("acs").task.find("race")).values.size(),
            9U);
  EXPECT_EQ(table.column("OCCP").kind, ColumnKind::category);
  EXPECT_GT(table.column("OCCP").levels.size(), 400U);
  EXPECT_EQ(table.column("AGEP").kind, ColumnKind::number);
  EXPECT_EQ(table.find("index"), nullptr);
}

}  // namespace
}  // namespace fmd
