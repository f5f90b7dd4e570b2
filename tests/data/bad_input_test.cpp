#include <filesystem>
#include <fstream>
#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "fmd/core/error.h"
#include "fmd/data/idx.h"
#include "fmd/data/table_stream.h"
#include "fmd/data/task.h"
#include "support/parquet.h"

namespace fmd {
namespace {

const std::filesystem::path kFolder = std::filesystem::path(FMD_TEST_DIR) / "bad";

nlohmann::json read_cases() {
  std::ifstream file(kFolder / "cases.json");
  return nlohmann::json::parse(file);
}

void read_as(const std::string& reader, const std::filesystem::path& path) {
  if (reader == "idx") {
    static_cast<void>(read_idx(path));
  } else if (reader != "task") {
    static_cast<void>(
        read_table(path, {.types = {{"age", ColumnKind::number}}}, test::parquet_exec()));
  } else {
    static_cast<void>(read_task(path));
  }
}

TEST(BadInput, EveryFileGetsItsMessage) {
  std::set<std::string> readers = {"csv", "task", "npy", "idx"};
  if (test::has_parquet()) readers.insert("parquet");
  for (const auto& entry : read_cases()) {
    const std::string file = entry.at("file");
    const std::string reader = entry.at("reader");
    if (!readers.contains(reader)) continue;
    SCOPED_TRACE(file);
    try {
      read_as(reader, kFolder / file);
      ADD_FAILURE() << "was read";
    } catch (const Error& error) {
      EXPECT_EQ(id(error.kind()), entry.at("kind").get<std::string>());
      const std::string message = error.what();
      EXPECT_NE(message.find(entry.at("message").get<std::string>()), std::string::npos)
          << message;
    }
  }
}

TEST(BadInput, EveryFileIsListed) {
  std::set<std::string> listed = {"cases.json", "README.md"};
  for (const auto& entry : read_cases()) listed.insert(entry.at("file").get<std::string>());
  EXPECT_GT(listed.size(), 25U);
  for (const auto& file : std::filesystem::directory_iterator(kFolder))
    EXPECT_TRUE(listed.contains(file.path().filename().string())) << file.path();
}

}  // namespace
}  // namespace fmd
