#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/internal.h"
#include "fmd/core/types.h"

namespace fmd::internal {

// Members that an object may have: they are looked for one after the other.
inline constexpr Index kMostKeys = 4096;

// A value of a JSON or UBJSON file, and where its bytes stand: a number can then be
// replaced without touching any other byte. A list of numbers (true and false count as 1
// and 0) is not taken apart: a model of a million nodes has few values.
struct DocumentValue {
  enum class Kind { null, boolean, number, text, numbers, list, object };
  Kind kind = Kind::null;
  std::size_t begin = 0, end = 0;  // numbers: the elements, without what stands around them
  double number = 0;               // boolean: 0 or 1
  std::string text;
  Index count = 0;        // numbers
  std::uint8_t type = 0;  // UBJSON numbers: the type of all elements; 0 = each has its own
  std::vector<std::pair<std::string, DocumentValue>> members;  // object
  std::vector<DocumentValue> items;                            // list
};

// Reads a file and names places in messages: "model.json: learner.objective: ...".
class Document {
 public:
  // JSON, or UBJSON where the first key says so. Throws Error(bad_model) that names the
  // source and the byte. The bytes must outlive this.
  Document(std::span<const std::uint8_t> bytes, std::string source);

  [[nodiscard]] const DocumentValue& root() const { return root_; }
  [[nodiscard]] bool binary() const { return binary_; }
  [[nodiscard]] std::span<const std::uint8_t> bytes() const { return bytes_; }
  [[nodiscard]] const std::string& source() const { return source_; }

  // The member of an object; null when it is not there.
  [[nodiscard]] static const DocumentValue* find(const DocumentValue& object,
                                                 std::string_view key);
  // Throws Error(bad_model) when it is not there. where: the object's place, for messages.
  [[nodiscard]] const DocumentValue& at(const DocumentValue& object, std::string_view key,
                                        const std::string& where) const;
  [[nodiscard]] const std::string& text(const DocumentValue& object, std::string_view key,
                                        const std::string& where) const;
  [[nodiscard]] std::vector<double> numbers(const DocumentValue& object,
                                            std::string_view key,
                                            const std::string& where) const;
  [[nodiscard]] const std::vector<DocumentValue>& list(const DocumentValue& object,
                                                       std::string_view key,
                                                       const std::string& where) const;
  // Each number with the place of its bytes, in order.
  using Visit = std::function<void(double value, std::size_t begin, std::size_t end)>;
  void each(const DocumentValue& numbers, const Visit& visit) const;

  [[noreturn]] void fail(const std::string& where, const std::string& what) const;

 private:
  std::span<const std::uint8_t> bytes_;
  std::string source_;
  bool binary_ = false;
  DocumentValue root_;
};

}  // namespace fmd::internal
