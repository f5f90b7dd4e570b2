#include "repro/shown_pairs.h"

#include <sstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/index.h"
#include "fmd/core/rng.h"
#include "fmd/data/datasets.h"
#include "fmd/data/table.h"
#include "fmd/language/sentence_items.h"
#include "repro/coloured_mnist.h"

namespace fmd::repro {
namespace {

using Json = nlohmann::ordered_json;

Json shown_digits(World& world, const Unit& unit) {
  const Digits& test = world.test_digits();
  Rng rng(unit.seed, "shown digits");
  std::vector<Index> rows = permutation(test.size(), rng);
  rows.resize(std::min(rows.size(), at(unit.settings.count("digits"))));
  const DigitSet set =
      make_digit_set(select(test, rows), ten_colours(), 1, unit.seed, "shown");
  Json digits = Json::array();
  for (Index i = 0; i < set.digits.size(); ++i)
    digits.push_back(
        {{"side", static_cast<Index>(std::lround(std::sqrt(set.digits.pixels)))},
         {"grey", grey_in_hex(set.digits.image(i))},
         {"own", set.own.paint[at(i)]},
         {"other", set.other.paint[at(i)]}});
  return digits;
}

// A row's cells, and where it differs from its pair.
Json shown_row(const Table& table, Index row, const std::string& side,
               const std::string& changed, const std::string& value) {
  Json cells = Json::array({side});
  Index marked = -1;
  for (const char* const name : {"age", "education", "hours-per-week", "race", "sex"}) {
    const Column& column = table.column(name);
    const bool here = changed == name;
    if (here) marked = std::ssize(cells);
    cells.push_back(here ? value : column.text(row));
  }
  return {{"cells", cells}, {"marked", marked}};
}

Json shown_people(World& world, const Unit& unit) {
  const Table test = load_dataset("adult", world.folder(), "test");
  Rng rng(unit.seed, "shown rows");
  const std::vector<Index> rows = permutation(test.rows(), rng);
  Json people = Json::array();
  people.push_back(shown_row(test, rows[0], "c", "", ""));
  const std::string sex = test.column("sex").text(rows[0]);
  people.push_back(
      shown_row(test, rows[0], "cbar", "sex", sex == "Male" ? "Female" : "Male"));
  people.push_back(shown_row(test, rows[1], "c", "", ""));
  const std::string race = test.column("race").text(rows[1]);
  people.push_back(
      shown_row(test, rows[1], "cbar", "race", race == "White" ? "Black" : "White"));
  return people;
}

std::vector<std::string> words_of(const std::string& sentence) {
  std::istringstream in(sentence);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

// Pairs of CrowS-Pairs of which one word differs, by the seed. The sentences are their
// authors': a dot stands for each word that both sides have.
Json shown_sentences(World& world, const Unit& unit) {
  const std::filesystem::path file =
      world.folder() / "crows_pairs/crows_pairs_anonymized.csv";
  Json rows = Json::array();
  if (!std::filesystem::exists(file)) return rows;
  const SentenceItems items = read_sentence_items(file);
  Rng rng(unit.seed, "shown sentences");
  const std::vector<Index> order = permutation(std::ssize(items.items), rng);
  for (const char* const domain : {"gender", "race-color", "religion"}) {
    for (const Index i : order) {
      const SentenceItem& item = items.items[at(i)];
      const auto* one = item.find(SentenceRole::stereotype);
      const auto* other = item.find(SentenceRole::anti_stereotype);
      if (item.domain != domain || one == nullptr || other == nullptr) continue;
      const std::vector<std::string> a = words_of(one->text), b = words_of(other->text);
      std::size_t differ = 0;
      std::string dots[2];
      for (std::size_t k = 0; k < a.size() && a.size() == b.size(); ++k) {
        differ += a[k] == b[k] ? 0 : 1;
        for (const int side : {0, 1})
          dots[side] += (k == 0 ? "" : " ") +
                        (a[k] == b[k] ? std::string("·") : (side == 0 ? a : b)[k]);
      }
      if (differ != 1 || a.size() > 14) continue;
      rows.push_back({{"cells", {"c", domain, dots[0]}}, {"marked", -1}});
      rows.push_back({{"cells", {"cbar", domain, dots[1]}}, {"marked", 2}});
      break;
    }
  }
  return rows;
}

}  // namespace

UnitResult run_shown_pairs(World& world, const Unit& unit, const Exec&) {
  UnitResult result;
  result.pictures = Json{{"digits", shown_digits(world, unit)},
                         {"adult", shown_people(world, unit)},
                         {"crows", shown_sentences(world, unit)}}
                        .dump();
  return result;
}

}  // namespace fmd::repro
