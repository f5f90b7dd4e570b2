#include "fmd/formats/safetensors.h"

#include <cstring>

#include <gtest/gtest.h>

#include "support/close.h"

namespace fmd {
namespace {

// A file with this header and so many bytes of data.
Bytes file_of(const std::string& header, std::size_t data) {
  const std::uint64_t length = header.size();
  Bytes bytes(8 + header.size() + data);
  std::memcpy(bytes.data(), &length, 8);
  std::memcpy(bytes.data() + 8, header.data(), header.size());
  for (std::size_t i = 0; i < data; ++i)
    bytes[8 + header.size() + i] = static_cast<std::uint8_t>(i);
  return bytes;
}

TEST(Safetensors, ARoundTripKeepsEverythingAndTheBytes) {
  const std::vector<double> doubles = {1.5, -2, 3e300, 0, 5, 6};
  const std::vector<float> floats = {1, 2, 3};
  const std::vector<std::int64_t> integers = {-1, 7};
  Safetensors file;
  file.metadata = {{"quote", "a \"b\" \n \u00e9"}, {"empty", ""}};
  file.tensors = {{"d", tensor_view(doubles, {2, 3})},
                  {"f", tensor_view(floats, {3})},
                  {"i", tensor_view(integers, {2})},
                  {"nothing", tensor_view(std::vector<double>{}, {0, 4})}};
  const Bytes bytes = file.write();
  const Safetensors back = Safetensors::parse(bytes, "x");
  EXPECT_EQ(back.metadata, file.metadata);
  ASSERT_EQ(back.tensors.size(), 4u);
  EXPECT_EQ(back.tensors.at("d").shape, (std::vector<Index>{2, 3}));
  EXPECT_EQ(tensor_numbers(back.tensors.at("d"), "d"), doubles);
  EXPECT_EQ(tensor_numbers(back.tensors.at("f"), "f"), (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(back.tensors.at("i").dtype, "I64");
  EXPECT_EQ(back.tensors.at("nothing").elements(), 0);
  EXPECT_EQ(back.write(), bytes);
}

TEST(Safetensors, TheDataIsAlignedAndTheHeaderPaddedWithBlanks) {
  Safetensors file;
  const std::vector<double> one = {1};
  for (const std::string name : {"a", "ab", "abc", "abcd", "abcde"}) {
    file.tensors = {{name, tensor_view(one, {1})}};
    const Bytes bytes = file.write();
    std::uint64_t length = 0;
    std::memcpy(&length, bytes.data(), 8);
    EXPECT_EQ(length % 8, 0u);
    EXPECT_EQ(bytes.size(), 8 + length + 8);
    EXPECT_EQ(bytes[8], '{');
  }
}

TEST(Safetensors, AFileOfAnotherWriterIsRead) {
  // Names in the order of writing, keys in another order, no metadata, no padding, blanks.
  const Bytes bytes = file_of(
      R"({"w":{"shape":[2,1],"dtype":"F32","data_offsets":[0,8]}, "a": {"dtype":"U8","shape":[],"data_offsets":[8,9]}})",
      9);
  const Safetensors file = Safetensors::parse(bytes, "other.safetensors");
  EXPECT_TRUE(file.metadata.empty());
  EXPECT_EQ(file.tensors.at("w").elements(), 2);
  EXPECT_EQ(file.tensors.at("a").elements(), 1);
  EXPECT_EQ(file.tensors.at("a").bytes[0], 8);
}

TEST(Safetensors, NumbersAreReadFromFloatsOnly) {
  const std::vector<std::int64_t> integers = {1};
  EXPECT_ERROR(tensor_numbers(tensor_view(integers, {1}), "t"), ErrorKind::bad_model,
               "tensor 't' has dtype I64");
  EXPECT_ERROR(tensor_view(integers, {2}), ErrorKind::bad_shape, "needs 2");
}

struct Hostile {
  std::string what, header;
  std::size_t data;
  std::string message;
};

class HostileHeaders : public testing::TestWithParam<Hostile> {};

TEST_P(HostileHeaders, AreErrorsThatNameTheFile) {
  const Bytes bytes = file_of(GetParam().header, GetParam().data);
  EXPECT_ERROR(Safetensors::parse(bytes, "evil.safetensors"), ErrorKind::bad_model,
               GetParam().message);
  EXPECT_ERROR(Safetensors::parse(bytes, "evil.safetensors"), ErrorKind::bad_model,
               "evil.safetensors: ");
}

std::string tensor(const std::string& dtype, const std::string& shape,
                   const std::string& offsets) {
  return R"({"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" +
         offsets + "}";
}

INSTANTIATE_TEST_SUITE_P(
    All, HostileHeaders,
    testing::Values(
        Hostile{"not JSON", "{\"a\":", 0, "not valid JSON"},
        Hostile{"text after", "{} x", 0, "not valid JSON"},
        Hostile{"not UTF-8", "{\"\xff\":1}", 0, "not valid JSON"},
        Hostile{"a list", "[]", 0, "a list"}, Hostile{"a number", "3", 0, "a number"},
        Hostile{"deep", std::string(100000, '['), 0, "a list"},
        Hostile{"deep objects", "{\"a\":{\"dtype\":{\"b\":{}}}}", 0, "an object"},
        Hostile{"deep shape", "{\"a\":{\"shape\":[[1]]}}", 0, "a list"},
        Hostile{"name twice",
                "{\"a\":" + tensor("U8", "[1]", "[0,1]") +
                    ",\"a\":" + tensor("U8", "[1]", "[0,1]") + "}",
                1, "'a' is there twice"},
        Hostile{"key twice",
                R"({"a":{"dtype":"U8","dtype":"U8","shape":[1],"data_offsets":[0,1]}})", 1,
                "'dtype' is there twice"},
        Hostile{"metadata twice", R"({"__metadata__":{"k":"1","k":"2"}})", 0, "twice"},
        Hostile{"metadata of numbers", R"({"__metadata__":{"k":1}})", 0, "a number"},
        Hostile{"missing key", R"({"a":{"dtype":"U8","shape":[1]}})", 1, "must have dtype"},
        Hostile{"unknown key",
                R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"x":"y"}})", 1,
                "a text where none is allowed"},
        Hostile{"unknown dtype", "{\"a\":" + tensor("F99", "[1]", "[0,1]") + "}", 1,
                "unknown dtype 'F99'"},
        Hostile{"negative", "{\"a\":" + tensor("U8", "[-1]", "[0,1]") + "}", 1, "negative"},
        Hostile{"fraction", "{\"a\":" + tensor("U8", "[1.5]", "[0,1]") + "}", 1,
                "not a size"},
        Hostile{"huge", "{\"a\":" + tensor("U8", "[18446744073709551615]", "[0,1]") + "}",
                1, "too large"},
        Hostile{"overflow",
                "{\"a\":" + tensor("F64", "[4294967296,4294967296]", "[0,0]") + "}", 0,
                "does not fit its shape"},
        Hostile{"shape and size", "{\"a\":" + tensor("F64", "[2]", "[0,8]") + "}", 8,
                "does not fit its shape"},
        Hostile{"outside", "{\"a\":" + tensor("U8", "[9]", "[0,9]") + "}", 8, "outside"},
        Hostile{"backwards", "{\"a\":" + tensor("U8", "[1]", "[2,1]") + "}", 8, "outside"},
        Hostile{"one offset", "{\"a\":" + tensor("U8", "[1]", "[1]") + "}", 8, "outside"},
        Hostile{"overlap",
                "{\"a\":" + tensor("U8", "[4]", "[0,4]") +
                    ",\"b\":" + tensor("U8", "[4]", "[3,7]") + "}",
                7, "overlap"},
        Hostile{"hole",
                "{\"a\":" + tensor("U8", "[4]", "[0,4]") +
                    ",\"b\":" + tensor("U8", "[4]", "[5,9]") + "}",
                9, "hole"},
        Hostile{"bytes after", "{\"a\":" + tensor("U8", "[4]", "[0,4]") + "}", 5,
                "end at byte 4"}),
    [](const auto& info) { return "n" + std::to_string(info.index); });

TEST(Safetensors, ALengthThatLiesIsAnErrorAndTakesNoMemory) {
  Bytes bytes = file_of("{}", 0);
  for (const std::uint64_t length :
       {std::uint64_t{3}, std::uint64_t{1} << 40, ~std::uint64_t{0}, ~std::uint64_t{7}}) {
    std::memcpy(bytes.data(), &length, 8);
    EXPECT_ERROR(Safetensors::parse(bytes, "x"), ErrorKind::bad_model, "claims");
  }
  EXPECT_ERROR(Safetensors::parse(Bytes(7), "x"), ErrorKind::bad_model, "too short");
}

TEST(Safetensors, EveryShorteningOfAFileIsAnError) {
  Safetensors file;
  const std::vector<double> values = {1, 2};
  file.metadata = {{"k", "v"}};
  file.tensors = {{"a", tensor_view(values, {2})}};
  const Bytes bytes = file.write();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_ERROR(Safetensors::parse(std::span(bytes).first(size), "x"),
                 ErrorKind::bad_model, "x: ");
  }
}

}  // namespace
}  // namespace fmd
