#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "fmd/core/hash.h"
#include "fmd/pipeline/debias_options.h"
#include "fmd/pipeline/receipt.h"
#include "fmd/report/debias_report.h"
#include "report/json.h"

namespace fmd::internal {

// A receipt that was read back; receipt_json() in report/debias_report.cpp makes it. The
// names of OUT and its other files follow from its own name, so that a folder can be moved.
struct Receipt {
  DebiasFiles files;
  Json json;
  std::string sha256_before, sha256_after;
  std::vector<ModelFileNote> model_files;  // of a model of several files: see DebiasReport

  [[nodiscard]] std::string name() const { return files.receipt.string(); }
  [[nodiscard]] int schema() const { return json["schema"].get<int>(); }
  [[nodiscard]] std::vector<DataNote> data() const;  // role, name, sha256, key
  [[nodiscard]] std::filesystem::path main() const;  // the file to open: OUT, or one in it
  // sha256 before the repair, by the name that an undo has; "" where none is recorded.
  [[nodiscard]] std::string recorded_before(const std::string& name) const;
  // The first file of the repaired model whose sha256 is not the recorded one; "" = none.
  // Throws Error(cannot_read).
  [[nodiscard]] std::string changed_file() const;
};

// `path` only gives the names. Throws Error(bad_option: another ending, bad_model: not a
// receipt).
[[nodiscard]] Receipt parse_receipt(std::string_view text,
                                    const std::filesystem::path& path);
// First completes what a killed run left. Throws what parse_receipt() throws, and
// Error(cannot_read).
[[nodiscard]] Receipt read_receipt(const std::filesystem::path& path);

// The part of a receipt that verify compares: without what no file can show again. These
// are names of files, the run's date and times, versions, the ledger's count, and the
// solver's number of steps.
// docs/verify.md has the list.
[[nodiscard]] Json claims_of(Json receipt);

// Throws Error(wrong_model) unless a restored file has the sha256 that the receipt says.
void require_original(const Receipt& receipt, const std::string& recorded,
                      const Hash& found);

}  // namespace fmd::internal
