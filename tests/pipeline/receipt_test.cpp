#include "pipeline/receipt.h"

#include <gtest/gtest.h>

#include "support/close.h"

namespace fmd {
namespace {

Receipt receipt_with(const std::string& schema, const std::string& files) {
  return parse_receipt(
      "{\"schema\": " + schema +
          ", \"model\": {\"sha256_before\": \"b\", \"sha256_after\": \"a\"" +
          (files.empty() ? "" : ", \"files\": " + files) + "}}",
      "folder/out.receipt.json");
}

TEST(Receipt, NamesTheFileToOpen) {
  const Receipt one = receipt_with("1", "");
  EXPECT_EQ(one.main(), "folder/out");
  EXPECT_EQ(one.recorded_before(""), "b");
  const Receipt several = receipt_with(
      "2",
      "[{\"name\": \"net\", \"sha256_before\": \"b\", \"sha256_after\": \"a\"},"
      " {\"name\": \"new\", \"sha256_before\": null, \"sha256_after\": \"c\"}]");
  EXPECT_EQ(several.main(), "folder/out/net");
  ASSERT_EQ(several.model_files.size(), 2u);
  EXPECT_EQ(several.recorded_before("new"), "");
}

TEST(Receipt, RefusesFilesThatNoRepairListed) {
  EXPECT_ERROR(receipt_with("3", ""), ErrorKind::bad_model, "schema 1 and 2, not 3");
  EXPECT_EQ(receipt_with("2", "").main(), "folder/out");  // a model of one file
  const std::string net =
      "{\"name\": \"net\", \"sha256_before\": \"b\", \"sha256_after\": \"a\"}";
  EXPECT_ERROR(receipt_with("2", "[" + net + "]"), ErrorKind::bad_model, "several files");
  for (const char* name : {"../x", "/etc/passwd", "..", "a/b", ""})
    EXPECT_ERROR(receipt_with("2", "[" + net + ", {\"name\": \"" + name +
                                       "\", \"sha256_after\": \"c\"}]"),
                 ErrorKind::bad_model, "plain name");
}

}  // namespace
}  // namespace fmd
