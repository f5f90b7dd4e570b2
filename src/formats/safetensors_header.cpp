#include "formats/safetensors_header.h"

#include <limits>
#include <set>

#include <nlohmann/json.hpp>

#include "core/check.h"

namespace fmd::internal {
namespace {

using Json = nlohmann::json;

[[noreturn]] void damaged_header(const std::string& source, const std::string& what) {
  throw Error(ErrorKind::bad_model, fmt::format("{}: safetensors header: {}", source, what),
              "the file is damaged or was made by a faulty program: make it again");
}

// Reads events instead of a tree: a tree would silently keep the last of two equal names
// and would follow any nesting.
class HeaderReader final : public nlohmann::json_sax<Json> {
 public:
  HeaderReader(SafetensorsHeader& header, const std::string& source)
      : header_(header), source_(source) {}

  bool null() override { unexpected("null"); }
  bool boolean(bool) override { unexpected("true or false"); }
  bool number_integer(number_integer_t) override { unexpected("a negative number"); }
  bool number_float(number_float_t, const string_t&) override {
    unexpected("a number that is not a size");
  }
  bool binary(binary_t&) override { unexpected("binary data"); }

  bool number_unsigned(number_unsigned_t value) override {
    if (numbers_ == nullptr) unexpected("a number");
    if (value > static_cast<number_unsigned_t>(std::numeric_limits<Index>::max()))
      unexpected("a number that is too large");
    numbers_->push_back(static_cast<Index>(value));
    return true;
  }

  bool string(string_t& value) override {
    if (numbers_ != nullptr) unexpected("a text");
    if (depth_ == 2 && in_metadata_) {
      header_.metadata[key_] = value;
    } else if (depth_ == 2 && key_ == "dtype") {
      entry_->dtype = value;
    } else {
      unexpected("a text");
    }
    return true;
  }

  bool start_object(std::size_t) override {
    if (depth_ > 1 || numbers_ != nullptr) unexpected("an object");
    if (++depth_ == 2) {
      in_metadata_ = name_ == "__metadata__";
      if (!in_metadata_) entry_ = &header_.entries[name_];
      keys_.clear();
    }
    return true;
  }

  bool key(string_t& value) override {
    auto& seen = depth_ == 1 ? names_ : keys_;
    if (!seen.insert(value).second)
      damaged_header(source_, fmt::format("'{}' is there twice", value));
    (depth_ == 1 ? name_ : key_) = value;
    return true;
  }

  bool end_object() override {
    if (depth_ == 2 && !in_metadata_ &&
        keys_ != std::set<std::string>{"data_offsets", "dtype", "shape"})
      damaged_header(
          source_,
          fmt::format("tensor '{}' must have dtype, shape and data_offsets", name_));
    --depth_;
    return true;
  }

  bool start_array(std::size_t) override {
    if (depth_ != 2 || in_metadata_ || numbers_ != nullptr) unexpected("a list");
    if (key_ == "shape") {
      numbers_ = &entry_->shape;
    } else if (key_ == "data_offsets") {
      numbers_ = &entry_->offsets;
    } else {
      unexpected("a list");
    }
    return true;
  }

  bool end_array() override {
    numbers_ = nullptr;
    return true;
  }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    damaged_header(source_, fmt::format("not valid JSON at byte {}", position));
  }

 private:
  [[noreturn]] void unexpected(std::string_view what) const {
    const std::string where = depth_ < 2 ? name_ : name_ + "." + key_;
    damaged_header(source_, fmt::format("{} where none is allowed (at '{}')", what, where));
  }

  SafetensorsHeader& header_;
  const std::string& source_;
  std::size_t depth_ = 0;
  std::string name_, key_;
  std::set<std::string> names_, keys_;
  bool in_metadata_ = false;
  SafetensorsHeader::Entry* entry_ = nullptr;
  std::vector<Index>* numbers_ = nullptr;
};

}  // namespace

SafetensorsHeader parse_safetensors_header(std::string_view json,
                                           const std::string& source) {
  SafetensorsHeader header;
  HeaderReader reader(header, source);
  Json::sax_parse(json.begin(), json.end(), &reader);
  return header;
}

}  // namespace fmd::internal
