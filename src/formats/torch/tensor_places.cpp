#include "formats/torch/tensor_places.h"

#include <cstring>
#include <unordered_map>

#include "core/check.h"
#include "core/index.h"

namespace fmd::internal {
namespace {

constexpr std::size_t kMostDepth = 200;       // of modules in modules
constexpr std::size_t kMostNames = 1 << 20U;  // of attributes in all
constexpr std::size_t kMostBytes = 1 << 24U;  // of a pickle
constexpr std::size_t kMostArguments = 16;    // of a tensor: it keeps a copy of the list

// A value of the pickle: its items are places in the list of all values.
struct Value {
  enum class Kind { other, number, text, name, list, dict, object, storage, tensor };
  Kind kind = Kind::other;
  std::int64_t number = 0;
  std::string text;
  std::vector<std::size_t> items;  // dict: key, value, key, value ...
};
using Kind = Value::Kind;

class Pickle {
 public:
  Pickle(std::span<const std::uint8_t> bytes, const std::string& source)
      : bytes_(bytes), source_(source) {}

  [[nodiscard]] std::map<std::string, TensorPlace> read() {
    if (bytes_.size() > kMostBytes) wrong("it is too long");
    while (step()) {
    }
    if (stack_.size() != 1) wrong("more than one value");
    std::map<std::string, TensorPlace> found;
    collect(stack_[0], "", 0, found);
    return found;
  }

 private:
  [[noreturn]] void wrong(const std::string& what) const {
    throw Error(
        ErrorKind::bad_model,
        fmt::format("{}: data.pkl is not as TorchScript writes it ({})", source_, what),
        "save the model again: torch.jit.script(model).save(\"model.pt\")");
  }
  std::uint64_t take(std::size_t size) {
    if (size > bytes_.size() - at_) wrong("it ends too early");
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < size; ++i)
      value |= std::uint64_t{bytes_[at_ + i]} << 8U * i;
    at_ += size;
    return value;
  }
  std::string take_text(std::size_t size) {
    if (size > bytes_.size() - at_) wrong("it ends too early");
    const std::string text(reinterpret_cast<const char*>(bytes_.data()) + at_, size);
    at_ += size;
    return text;
  }
  std::string take_line() {
    std::size_t end = at_;
    while (end < bytes_.size() && bytes_[end] != '\n') ++end;
    const std::string line = take_text(end - at_);
    take(1);
    return line;
  }
  void push(Value value) {
    values_.push_back(std::move(value));
    stack_.push_back(values_.size() - 1);
  }
  void push_number(std::int64_t number) { push({Kind::number, number, {}, {}}); }
  std::size_t pop() {
    if (stack_.empty() || (!marks_.empty() && stack_.size() == marks_.back()))
      wrong("a value is missing");
    const std::size_t top = stack_.back();
    stack_.pop_back();
    return top;
  }
  std::vector<std::size_t> pop_marked() {
    if (marks_.empty()) wrong("a mark is missing");
    const auto from = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    std::vector<std::size_t> items(from, stack_.end());
    stack_.erase(from, stack_.end());
    marks_.pop_back();
    return items;
  }
  void push_list(std::size_t count) {
    std::vector<std::size_t> items(count);
    for (std::size_t i = count; i-- > 0;) items[i] = pop();
    push({Kind::list, 0, {}, std::move(items)});
  }
  void add_items(const std::vector<std::size_t>& items) {
    const std::size_t into = pop();
    stack_.push_back(into);
    values_[into].items.insert(values_[into].items.end(), items.begin(), items.end());
  }
  void remember(std::size_t key) {
    const std::size_t top = pop();
    stack_.push_back(top);
    memo_[key] = top;
  }
  void recall(std::size_t key) {
    const auto found = memo_.find(key);
    if (found == memo_.end()) wrong("a value that was not kept");
    if (values_[found->second].kind == Kind::tensor) ++uses_[storage_of(found->second)];
    stack_.push_back(found->second);
  }

  // One operation; false at the end.
  bool step() {
    const auto op = static_cast<char>(take(1));
    switch (op) {
      case '\x80':
        take(1);
        return true;
      case '.':
        return false;
      case '(':
        marks_.push_back(stack_.size());
        return true;
      case 'q':
        remember(take(1));
        return true;
      case 'r':
        remember(take(4));
        return true;
      case 'h':
        recall(take(1));
        return true;
      case 'j':
        recall(take(4));
        return true;
      case 'c': {
        const std::string module = take_line();
        push({Kind::name, 0, module + "." + take_line(), {}});
        return true;
      }
      default:
        return step_value(op) || step_object(op) || (wrong("an operation"), false);
    }
  }

  bool step_value(char op) {
    switch (op) {
      case 'N':
      case '\x88':
      case '\x89':
        push({});
        return true;
      case 'K':
        push_number(static_cast<std::int64_t>(take(1)));
        return true;
      case 'M':
        push_number(static_cast<std::int64_t>(take(2)));
        return true;
      case 'J':
        push_number(static_cast<std::int32_t>(take(4)));
        return true;
      case '\x8a': {
        const std::size_t size = take(1);
        if (size > 8) wrong("a number of more than 64 bits");
        std::uint64_t value = take(size);
        if (size > 0 && size < 8 && (value >> (8 * size - 1)) != 0)
          value |= ~std::uint64_t{0} << 8 * size;
        push_number(static_cast<std::int64_t>(value));
        return true;
      }
      case 'G':
        take(8);
        push({});
        return true;
      case 'X':
        push({Kind::text, 0, take_text(take(4)), {}});
        return true;
      case '\x8c':
        push({Kind::text, 0, take_text(take(1)), {}});
        return true;
      default:
        return false;
    }
  }

  bool step_object(char op) {
    switch (op) {
      case ')':
      case ']':
        push({Kind::list, 0, {}, {}});
        return true;
      case '}':
        push({Kind::dict, 0, {}, {}});
        return true;
      case 't':
        push({Kind::list, 0, {}, pop_marked()});
        return true;
      case '\x85':
      case '\x86':
      case '\x87':
        push_list(static_cast<std::size_t>(op - '\x84'));
        return true;
      case 'a':
        add_items({pop()});
        return true;
      case 's': {
        const std::size_t value = pop(), key = pop();
        add_items({key, value});
        return true;
      }
      case 'e':
      case 'u':
        add_items(pop_marked());
        return true;
      case '\x81':  // a new object of a class
        pop();
        pop();
        push({Kind::object, 0, {}, {}});
        return true;
      case 'b': {  // its attributes
        const std::size_t state = pop();
        add_items({state});
        return true;
      }
      case 'Q': {
        const std::size_t list = pop();
        push({Kind::storage, 0, {}, arguments_of(list)});
        return true;
      }
      case 'R':
        reduce();
        return true;
      default:
        return false;
    }
  }

  void reduce() {
    const std::size_t arguments = pop(), name = pop();
    if (values_[name].text == "torch._utils._rebuild_tensor_v2") {
      push({Kind::tensor, 0, {}, arguments_of(arguments)});
      ++uses_[storage_of(stack_.back())];
    } else {
      push({});
    }
  }

  [[nodiscard]] std::vector<std::size_t> arguments_of(std::size_t list) const {
    if (values_[list].items.size() > kMostArguments) wrong("a tensor");
    return values_[list].items;
  }
  [[nodiscard]] const Value& item(const Value& of, std::size_t i, Kind kind) const {
    if (i >= of.items.size() || values_[of.items[i]].kind != kind) wrong("a tensor");
    return values_[of.items[i]];
  }
  [[nodiscard]] std::string storage_of(std::size_t tensor) const {
    return item(item(values_[tensor], 0, Kind::storage), 2, Kind::text).text;
  }
  [[nodiscard]] std::vector<Index> numbers(const Value& list) const {
    std::vector<Index> all;
    for (std::size_t i = 0; i < list.items.size(); ++i)
      all.push_back(item(list, i, Kind::number).number);
    return all;
  }
  [[nodiscard]] TensorPlace place(std::size_t tensor) const {
    const Value& t = values_[tensor];
    const Value& storage = item(t, 0, Kind::storage);
    const std::string type = item(storage, 1, Kind::name).text;
    return {.type = type.substr(type.rfind('.') + 1),
            .storage = storage_of(tensor),
            .offset = item(t, 1, Kind::number).number,
            .sizes = numbers(item(t, 2, Kind::list)),
            .strides = numbers(item(t, 3, Kind::list)),
            .shared = uses_.at(storage_of(tensor)) > 1};
  }

  // Tensors among the attributes of an object, and of the objects among them.
  void collect(std::size_t object, const std::string& above, std::size_t depth,
               std::map<std::string, TensorPlace>& found) const {
    if (depth > kMostDepth) wrong("modules that are nested too deeply");
    if (values_[object].items.empty()) return;
    const Value& state = item(values_[object], 0, Kind::dict);
    for (std::size_t i = 0; i + 1 < state.items.size(); i += 2) {
      const Value& key = item(state, i, Kind::text);
      const std::size_t value = state.items[i + 1];
      const std::string name = above + key.text;
      if (++names_ > kMostNames) wrong("too many attributes");
      if (values_[value].kind == Kind::tensor) found.emplace(name, place(value));
      if (values_[value].kind == Kind::object) collect(value, name + ".", depth + 1, found);
    }
  }

  std::span<const std::uint8_t> bytes_;
  const std::string& source_;
  std::size_t at_ = 0;
  std::vector<Value> values_;
  std::vector<std::size_t> stack_, marks_;
  std::unordered_map<std::size_t, std::size_t> memo_;
  std::unordered_map<std::string, int> uses_;  // of storages by tensors
  mutable std::size_t names_ = 0;
};

}  // namespace

std::map<std::string, TensorPlace> tensor_places(std::span<const std::uint8_t> pickle,
                                                 const std::string& source) {
  return Pickle(pickle, source).read();
}

}  // namespace fmd::internal
