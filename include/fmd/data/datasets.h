#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "fmd/data/table.h"
#include "fmd/data/task.h"

namespace fmd {

struct DatasetFile {
  std::string path;  // below the data folder, e.g. "adult/adult.data"
  std::string sha256;
};

// A public data set that fmd knows by name.
struct Dataset {
  std::string name;                // "adult"
  std::string title;               // one line
  std::string source;              // where the public can get it, in words
  Index rows = 0;                  // after preparation
  std::vector<DatasetFile> files;  // empty: built in
  Task task;                       // label, positive, favourable, attributes, types
};

[[nodiscard]] const std::vector<Dataset>& datasets();  // demo, adult, hmda, german, acs

// The data set as a table with readable values. It is prepared as follows.
//   demo    the embedded sample of 30,000 ACSIncome rows in words
//   adult   complete rows, AIF360's columns (no fnlwgt), race as White / Non-white:
//           98 features
//   hmda    as published; deny is the label, and "no" is good for the person
//   german  UCI's codes; sex is taken from personal_status, which is dropped;
//           foreign_worker as yes / no
//   acs     332,900 rows; sex, race and income in words, other codes as categories
// `part` is "train" or "test" where the set has its own split (adult); "" = all rows.
// Throws Error(bad_option) for an unknown name (the message lists the names),
// Error(missing_dataset) that names the folder searched, the file and the source, and
// Error(wrong_checksum).
[[nodiscard]] Table load_dataset(const std::string& name,
                                 const std::filesystem::path& data_folder,
                                 const std::string& part = "");
[[nodiscard]] const Dataset& find_dataset(const std::string& name);

// Sets of images, which are not tables: mnist. A file may be there plain or as <path>.gz.
// The checksums are those of the unpacked bytes, because packers differ.
[[nodiscard]] const std::vector<Dataset>& image_datasets();
[[nodiscard]] bool is_present(const Dataset& set, const std::filesystem::path& data_folder);
// The unpacked bytes of one file of an image set, once their checksum is verified. Throws
// what load_dataset throws.
[[nodiscard]] std::string read_image_file(const Dataset& set, const DatasetFile& file,
                                          const std::filesystem::path& data_folder);

}  // namespace fmd
