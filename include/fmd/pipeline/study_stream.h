#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "fmd/core/exec.h"
#include "fmd/core/output_files.h"
#include "fmd/pipeline/source.h"
#include "fmd/pipeline/study.h"

namespace fmd {

struct StreamOptions {
  bool need_labels = false;
  bool weights = false;  // read task.weight too
  bool whole = false;    // all rows as one block, for work that needs rows of all blocks
  bool survey = true;    // false: one pass over a table, for tasks without attributes. The
                         // number of rows is then not known
  // The attributes of all rows, where these rows are a part of them; null: found here. Not
  // for files of features.
  const std::vector<Attribute>* attributes = nullptr;
};

// DATA of any size as a model sees it: blocks of rows with features, labels and attributes.
// Memory does not grow with the rows, unless the source comes as one block. Tables are read
// twice: the first pass finds the attributes' values and counts the rows. Flips need all
// values of an attribute before the first row is scored. Files of features (see
// FeaturesFile) are read block by block.
class StudyStream {
 public:
  // Throws what reading and make_study() throw; Error(bad_model) for features that another
  // encoder made, and Error(missing_column) for labels, weights or attributes that a file
  // of features does not have. model and task must outlive the stream.
  StudyStream(const Model& model, const Task& task, const DataSource& data,
              const StreamOptions& options, const Exec& exec);
  StudyStream(StudyStream&&) noexcept;
  ~StudyStream();

  // The next rows; false at the end. Reports progress as `stage`.
  bool next(Study& block, const char* stage);
  void rewind();

  [[nodiscard]] Index rows() const;                 // 0 = not known
  [[nodiscard]] const std::string& source() const;  // name of the file
  [[nodiscard]] bool labelled() const;
  [[nodiscard]] const std::vector<Attribute>& attributes() const;  // without codes
  [[nodiscard]] const std::vector<Reads>& reads() const;
  // How many rows would equal a training row by chance.
  [[nodiscard]] double seen_by_chance() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Writes features, labels and attributes of a whole stream as one file. `files` gives it
// the name `target` when it commits.
void write_features(const Model& model, const Task& task, StudyStream& stream,
                    const std::string& sha256, OutputFiles& files,
                    const std::filesystem::path& target);

// All rows as one study. A file of features stays in the file. A table is read into memory,
// or, where `spill` is not empty, written as a file of features there, without a name. That
// file is not kept: `files` removes it.
[[nodiscard]] Study whole_study(const Model& model, const Task& task,
                                const DataSource& data, const StreamOptions& options,
                                OutputFiles& files, const std::filesystem::path& spill,
                                const Exec& exec);

}  // namespace fmd
