#include "fmd/language/sentence_items.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include <fmt/format.h>

#include "core/index.h"
#include "core/json.h"
#include "core/names.h"
#include "fmd/core/error.h"
#include "fmd/core/file.h"
#include "fmd/core/hash.h"
#include "fmd/core/safe_text.h"
#include "fmd/data/csv.h"
#include "language/tokens/characters.h"

namespace fmd {
namespace {

using Json = nlohmann::json;

constexpr Name<SentenceRole> kRoles[] = {{SentenceRole::stereotype, "stereotype"},
                                         {SentenceRole::anti_stereotype, "anti-stereotype"},
                                         {SentenceRole::unrelated, "unrelated"}};
constexpr std::string_view kBlank = "BLANK";
constexpr const char* kFormats =
    "StereoSet's dev.json, CrowS-Pairs' CSV, or a CSV with the columns stereotype and "
    "anti_stereotype";

bool same_letters(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? c + 32 : +c; };
    return lower(x) == lower(y);
  });
}

// Builds items of one file, and counts what it cannot use.
class ItemBuilder {
 public:
  explicit ItemBuilder(const std::string& source) { items_.file = source; }

  [[noreturn]] void refuse(const std::string& where, const std::string& what) const {
    throw Error(
        ErrorKind::bad_data,
        fmt::format("{}{}{}: {}", items_.file, where.empty() ? "" : ", ", where, what),
        kFormats);
  }

  void drop(const std::string& why) {
    ++items_.dropped;
    ++dropped_[why];
  }

  // A role that comes twice is an error: which one would count?
  void add_sentence(SentenceItem& item, RoledSentence sentence,
                    const std::string& where) const {
    if (sentence.text.empty()) refuse(where, "a sentence is empty");
    if (item.find(sentence.role) != nullptr)
      refuse(where, fmt::format("item \"{}\" has two sentences with the label {}",
                                safe_text(item.id), to_string(sentence.role)));
    item.sentences.push_back(std::move(sentence));
  }

  void add(SentenceItem item, const std::string& where) {
    for (const SentenceRole role :
         {SentenceRole::stereotype, SentenceRole::anti_stereotype})
      if (item.find(role) == nullptr)
        refuse(where, fmt::format("item \"{}\" has no sentence with the label {}",
                                  safe_text(item.id), to_string(role)));
    std::sort(
        item.sentences.begin(), item.sentences.end(),
        [](const RoledSentence& a, const RoledSentence& b) { return a.role < b.role; });
    for (RoledSentence& sentence : item.sentences)
      if (sentence.id.empty())
        sentence.id = fmt::format("{}:{}", item.id, to_string(sentence.role));
    find_words(item);
    items_.items.push_back(std::move(item));
  }

  [[nodiscard]] SentenceItems finish(SentenceSource source, std::string_view text) {
    if (items_.items.empty()) refuse("", "it has no items that can be used");
    items_.source = source;
    items_.sha256 =
        hex(sha256({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}));
    for (const auto& [why, count] : dropped_)
      items_.notes.push_back(fmt::format("{}: {} left out: {}", items_.file, count, why));
    return std::move(items_);
  }

 private:
  // What stands in the place of BLANK. Where the rest is not as in the context, large and
  // small letters aside (StereoSet has a few such sentences), the word stays unknown.
  void find_words(SentenceItem& item) {
    const std::size_t blank = item.context.find(kBlank);
    if (item.intersentence || blank == std::string::npos) return;
    const std::string before = item.context.substr(0, blank),
                      after = item.context.substr(blank + kBlank.size());
    for (RoledSentence& sentence : item.sentences) {
      const std::string& text = sentence.text;
      if (text.size() > before.size() + after.size() &&
          same_letters(text.substr(0, before.size()), before) &&
          same_letters(text.substr(text.size() - after.size()), after))
        sentence.word =
            text.substr(before.size(), text.size() - before.size() - after.size());
    }
  }

  SentenceItems items_;
  std::map<std::string, Index> dropped_;
};

// ---------------------------------------------------------------- StereoSet

class StereosetReader {
 public:
  StereosetReader(const Json& file, std::string_view text, const std::string& source)
      : file_(file), text_(text), build_(source) {}

  [[nodiscard]] SentenceItems read() {
    const Json* data = &file_;
    if (file_.is_object() && file_.contains("data")) data = &file_.at("data");
    if (data->is_array()) {
      read_list(*data, "item", false);
    } else if (data->is_object() && data->contains("stereotype")) {
      read_by_label(*data);
    } else if (data->is_object() &&
               (data->contains("intrasentence") || data->contains("intersentence"))) {
      for (const char* part : {"intrasentence", "intersentence"})
        if (data->contains(part)) {
          if (!data->at(part).is_array()) build_.refuse(part, "it is no list of items");
          read_list(data->at(part), part, std::string_view(part) == "intersentence");
        }
    } else {
      build_.refuse("", "this JSON is not in a format of StereoSet");
    }
    return build_.finish(SentenceSource::stereoset, text_);
  }

 private:
  [[nodiscard]] std::string text(const Json& from, const char* name,
                                 const std::string& where) const {
    if (!from.is_object()) build_.refuse(where, "it is no JSON object");
    const auto found = from.find(name);
    if (found == from.end() || !found->is_string())
      build_.refuse(where, fmt::format("\"{}\" is missing or no text", name));
    return found->get<std::string>();
  }
  [[nodiscard]] std::string maybe_text(const Json& from, const char* name) const {
    const auto found = from.find(name);
    return found != from.end() && found->is_string() ? found->get<std::string>() : "";
  }

  [[nodiscard]] SentenceItem head(const Json& entry, const std::string& where) const {
    SentenceItem item;
    item.id = text(entry, "id", where);
    item.domain = text(entry, "bias_type", where);
    item.target = text(entry, "target", where);
    item.context = text(entry, "context", where);
    if (item.domain.empty() || item.target.empty())
      build_.refuse(where, "\"bias_type\" or \"target\" is empty");
    return item;
  }

  void read_list(const Json& list, const std::string& name, bool intersentence) {
    std::size_t number = 0;
    for (const Json& entry : list) {
      const std::string where = fmt::format("{} {}", name, ++number);
      SentenceItem item = head(entry, where);
      item.intersentence = intersentence || item.context.find(kBlank) == std::string::npos;
      const auto sentences = entry.find("sentences");
      if (sentences == entry.end() || !sentences->is_array())
        build_.refuse(where, "\"sentences\" is no list");
      for (const Json& one : *sentences) {
        const auto role = find_name(kRoles, text(one, "gold_label", where));
        if (!role)
          build_.refuse(
              where, fmt::format("\"gold_label\" is \"{}\", must be {}",
                                 safe_text(maybe_text(one, "gold_label")), listed(kRoles)));
        build_.add_sentence(item,
                            {.text = text(one, "sentence", where),
                             .word = "",
                             .role = *role,
                             .id = maybe_text(one, "id")},
                            where);
      }
      build_.add(std::move(item), where);
    }
  }

  // {"stereotype": [...], "anti-stereotype": [...], "unrelated": [...]}: sentences of one
  // id belong together.
  void read_by_label(const Json& data) {
    std::map<std::string, std::size_t> known;
    std::vector<SentenceItem> items;
    for (const auto& role : kRoles) {
      if (!data.contains(role.name)) continue;
      if (!data.at(role.name).is_array()) build_.refuse(role.name, "it is no list");
      std::size_t number = 0;
      for (const Json& entry : data.at(role.name)) {
        const std::string where = fmt::format("{} {}", role.name, ++number);
        SentenceItem item = head(entry, where);
        item.intersentence = item.context.find(kBlank) == std::string::npos;
        const auto [found, fresh] = known.emplace(item.id, items.size());
        if (fresh) items.push_back(std::move(item));
        build_.add_sentence(items[found->second],
                            {.text = text(entry, "sentence", where),
                             .word = "",
                             .role = role.value,
                             .id = maybe_text(entry, "sentence_id")},
                            where);
      }
    }
    for (SentenceItem& item : items) build_.add(std::move(item), "");
  }

  const Json& file_;
  std::string_view text_;
  ItemBuilder build_;
};

// ---------------------------------------------------------------- CSV

// Cells as they are written: sentences are text, whatever they look like.
Table text_table(std::string_view text, const std::string& source) {
  CsvOptions options;
  options.separator = ',';
  options.missing = {""};
  const Table first = parse_csv(text, source, options);
  for (const Column& column : first.columns)
    options.types[column.name] = ColumnKind::category;
  return parse_csv(text, source, options);
}

SentenceItems read_crows(const Table& table, std::string_view text,
                         const std::string& source) {
  ItemBuilder build(source);
  const Column &more = table.column("sent_more"), &less = table.column("sent_less"),
               &side = table.column("stereo_antistereo"),
               &domain = table.column("bias_type");
  for (Index i = 0; i < table.rows(); ++i) {
    const std::string where = fmt::format("line {}", table.line[i]);
    const std::string direction = side.text(i);
    if (direction != "stereo" && direction != "antistereo")
      build.refuse(where, fmt::format("stereo_antistereo is \"{}\", must be stereo or "
                                      "antistereo",
                                      safe_text(direction)));
    if (more.text(i).empty() || less.text(i).empty())
      build.refuse(where, "a side of the pair is empty");
    if (more.text(i) == less.text(i)) {
      build.drop("both sentences are the same");
      continue;
    }
    // sent_more is the sentence that stereotypes more, also where the pair goes against a
    // stereotype: there it is the one about the advantaged group.
    SentenceItem item;
    item.id = fmt::format("crows-{}", i);
    item.domain = domain.text(i).empty() ? "all" : domain.text(i);
    item.target = item.id;
    item.context = direction;
    build.add_sentence(item, {more.text(i), "", SentenceRole::stereotype, ""}, where);
    build.add_sentence(item, {less.text(i), "", SentenceRole::anti_stereotype, ""}, where);
    build.add(std::move(item), where);
  }
  return build.finish(SentenceSource::crows, text);
}

SentenceItems read_pairs(const Table& table, std::string_view text,
                         const std::string& source) {
  ItemBuilder build(source);
  const auto cell = [&](const char* name, Index i) {
    const Column* column = table.find(name);
    return column == nullptr ? std::string() : column->text(i);
  };
  for (Index i = 0; i < table.rows(); ++i) {
    const std::string where = fmt::format("line {}", table.line[i]);
    SentenceItem item;
    item.id = cell("id", i).empty() ? fmt::format("pair-{}", i + 1) : cell("id", i);
    item.domain = cell("domain", i).empty() ? "all" : cell("domain", i);
    item.target = cell("target", i).empty() ? item.id : cell("target", i);
    const std::string one = cell("stereotype", i), other = cell("anti_stereotype", i);
    if (one.empty() || other.empty()) build.refuse(where, "a side of the pair is empty");
    if (one == other) {
      build.drop("both sentences are the same");
      continue;
    }
    build.add_sentence(item, {one, "", SentenceRole::stereotype, ""}, where);
    build.add_sentence(item, {other, "", SentenceRole::anti_stereotype, ""}, where);
    if (!cell("unrelated", i).empty())
      build.add_sentence(item, {cell("unrelated", i), "", SentenceRole::unrelated, ""},
                         where);
    build.add(std::move(item), where);
  }
  return build.finish(SentenceSource::csv, text);
}

}  // namespace

std::string to_string(SentenceRole role) {
  return name_of(kRoles, "the role of a sentence", role);
}

const RoledSentence* SentenceItem::find(SentenceRole role) const {
  for (const RoledSentence& sentence : sentences)
    if (sentence.role == role) return &sentence;
  return nullptr;
}

std::vector<std::string> SentenceItems::domains() const {
  std::set<std::string> names;
  for (const SentenceItem& item : items) names.insert(item.domain);
  return {names.begin(), names.end()};
}

SentenceItems SentenceItems::of_domain(const std::string& domain) const {
  SentenceItems part = *this;
  std::erase_if(part.items,
                [&](const SentenceItem& item) { return item.domain != domain; });
  return part;
}

SentenceItems parse_sentence_items(std::string_view text, const std::string& source) {
  require_utf8(text, source);
  const std::string_view mark = "\xEF\xBB\xBF";
  const std::string_view body = text.starts_with(mark) ? text.substr(mark.size()) : text;
  const std::size_t start = body.find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos)
    throw Error(ErrorKind::bad_data, fmt::format("{}: it has no items", source), kFormats);
  if (body[start] == '{' || body[start] == '[') {
    const Json file = parse_json(body, source, ErrorKind::bad_data);
    return StereosetReader(file, text, source).read();
  }
  // CrowS-Pairs leaves the first column, a number, without a name.
  const Table table = text_table(
      body.starts_with(',') ? "pair" + std::string(body) : std::string(body), source);
  if (table.find("sent_more") != nullptr) return read_crows(table, text, source);
  if (table.find("stereotype") != nullptr && table.find("anti_stereotype") != nullptr)
    return read_pairs(table, text, source);
  throw Error(ErrorKind::bad_data,
              fmt::format("{}: it has neither the columns of CrowS-Pairs (sent_more, "
                          "sent_less, stereo_antistereo, bias_type) nor stereotype and "
                          "anti_stereotype",
                          source),
              kFormats);
}

SentenceItems read_sentence_items(const std::filesystem::path& file) {
  return parse_sentence_items(read_text(file, Index{1} << 28), file.string());
}

}  // namespace fmd
