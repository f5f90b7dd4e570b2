#include "repro/shown_pairs.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/index.h"
#include "fmd/core/rng.h"
#include "fmd/data/datasets.h"
#include "fmd/data/table.h"
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

}  // namespace

UnitResult run_shown_pairs(World& world, const Unit& unit, const Exec&) {
  UnitResult result;
  result.pictures =
      Json{{"digits", shown_digits(world, unit)}, {"adult", shown_people(world, unit)}}
          .dump();
  return result;
}

}  // namespace fmd::repro
