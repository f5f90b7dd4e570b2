#include "compat/states.h"

#include <cmath>
#include <sstream>

#include <gtest/gtest.h>

#include "compat/releases.h"
#include "fmd/core/error.h"
#include "fmd/pipeline/audit_state.h"
#include "support/close.h"

// States that earlier releases saved: they load, say what they said, and merge with each
// other and with states of today.
namespace fmd {
namespace {

using test::Figures;
using test::figures_of;

constexpr double kRounding = 1e-12;  // logarithms and sums of BLAS differ between machines

// What figures.csv.gz says of each state.
std::map<std::string, Figures> stored_figures(const std::filesystem::path& folder) {
  std::map<std::string, Figures> all;
  std::istringstream lines(read_text(folder / "figures.csv.gz"));
  std::string line;
  std::getline(lines, line);  // the header
  while (std::getline(lines, line)) {
    const std::size_t first = line.find(','), last = line.rfind(',');
    all[line.substr(0, first)][line.substr(first + 1, last - first - 1)] =
        std::stod(line.substr(last + 1));
  }
  return all;
}

bool near(double a, double b, double tolerance) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return std::abs(a - b) <= tolerance * std::max(1.0, std::abs(b));
}

// The first figure of `expected` that is not there, or is another; "" when there is none. A
// later release may know more figures than one of today.
std::string difference(const Figures& now, const Figures& expected, double tolerance) {
  if (expected.empty()) return "nothing is expected";
  for (const auto& [name, value] : expected) {
    const auto found = now.find(name);
    if (found == now.end()) return name + " is missing";
    if (!near(found->second, value, tolerance))
      return fmt::format("{}: {}, expected {}", name, found->second, value);
  }
  return "";
}

template <typename State>
State load(const Bytes& bytes) {
  ByteReader in(bytes);
  State state = State::load(in);
  EXPECT_EQ(in.left(), 0u);
  return state;
}

template <typename Kind, typename Rows>
void expect_state(const Kind& kind, const std::filesystem::path& folder, const Rows& rows,
                  Index border, Index count, const Figures& stored, double same) {
  using State = typename Kind::State;
  SCOPED_TRACE(kind.name);
  const auto read = [&](const char* part) {
    return test::unpacked(folder / fmt::format("{}.{}.state.gz", kind.name, part));
  };
  const State whole = load<State>(read("all"));
  EXPECT_EQ(difference(figures_of(whole), stored, kRounding), "");

  const State first = load<State>(read("first")), second = load<State>(read("second"));
  EXPECT_NE(difference(figures_of(first), stored, kRounding), "");  // a part is not all
  State merged = first, reversed = second;
  merged.merge(second);
  reversed.merge(first);
  EXPECT_EQ(difference(figures_of(merged), figures_of(whole), same), "");
  EXPECT_EQ(difference(figures_of(reversed), figures_of(whole), same), "");

  // The second part counted today.
  State mixed = first;
  mixed.merge(kind.make(rows, border, count));
  EXPECT_EQ(difference(figures_of(mixed), stored, kRounding), "");

  // Written again and read again.
  ByteWriter out;
  merged.save(out);
  EXPECT_EQ(difference(figures_of(load<State>(out.bytes())), figures_of(merged), 0), "");

  // A file that was cut off is noticed.
  Bytes cut = read("all");
  cut.pop_back();
  EXPECT_ERROR(load<State>(cut), ErrorKind::bad_model, "");
}

TEST(CompatStates, LoadMergeAndSayTheSame) {
  for (const std::filesystem::path& release : test::releases()) {
    SCOPED_TRACE(release.filename());
    const std::filesystem::path folder = release / "states";
    const std::map<std::string, Figures> stored = stored_figures(folder);
    const test::StateRows rows = test::read_state_rows(folder / "rows.csv.gz");
    const Index count = rows.size(), border = test::first_part(count);
    for (const test::TallyState& kind : test::tally_states())
      expect_state(kind, folder, rows, border, count, stored.at(kind.name), 0);
    for (const test::FlipState& kind : test::flip_states()) {
      const PairScores pairs =
          test::read_state_pairs(folder / "pairs.csv.gz", kind.plan.classes);
      expect_state(kind, folder, pairs, test::first_part(pairs.p.rows()), pairs.p.rows(),
                   stored.at(kind.name), 0);
    }
    expect_state(test::HistogramState{}, folder, rows, border, count,
                 stored.at("histogram"), 0);
    expect_state(test::ScanCountsState{}, folder, rows, border, count,
                 stored.at("scan_counts"), 0);
    constexpr Index kRows = test::ScanFlipsState::kRows;
    expect_state(test::ScanFlipsState{}, folder, rows, kRows * (border / kRows), count,
                 stored.at("scan_flips"), 0);
    // Its sums are plain sums of doubles: their order shows in the last digits.
    expect_state(test::HessianState{}, folder, rows, border, count, stored.at("hessian"),
                 kRounding);
  }
}

TEST(CompatStates, AnotherFormatIsRefused) {
  for (const std::filesystem::path& release : test::releases()) {
    // The first four bytes are the number of the format.
    Bytes tally = test::unpacked(release / "states" / "tally.all.state.gz");
    tally[0] = 99;
    EXPECT_ERROR(load<Tally>(tally), ErrorKind::bad_model, "");
    Bytes flips = test::unpacked(release / "states" / "flips.all.state.gz");
    flips[0] = 99;
    EXPECT_ERROR(load<FlipTally>(flips), ErrorKind::bad_model, "");
  }
}

Attribute attribute(const std::string& name, const std::vector<std::string>& values) {
  Attribute a;
  a.name = name;
  a.columns = {name};
  a.values = a.groups = values;
  for (const std::string& value : values) a.cells.push_back({{value, 0}});
  return a;
}

// Everything that an audit says of these tallies.
std::string audit_text(const Tally& tally, const FlipTally& flips) {
  Task task;
  task.label = "y";
  task.classes = {"no", "yes"};
  task.favorable = "yes";
  task.attributes = {{.name = "a", .columns = {"a"}}, {.name = "b", .columns = {"b"}}};
  task.min_group = task.min_label = 5;
  const Attribute a = attribute("a", {"a0", "a1"}), b = attribute("b", {"b0", "b1", "b2"});
  const std::vector<TalliedAttribute> attributes = {{.attribute = &a,
                                                     .reads = Reads::no,
                                                     .flips = {},
                                                     .pairs_kind = PairKind::flip,
                                                     .slope = {},
                                                     .match = {}},
                                                    {.attribute = &b,
                                                     .reads = Reads::yes,
                                                     .flips = flips,
                                                     .pairs_kind = PairKind::flip,
                                                     .slope = {},
                                                     .match = {}}};
  const AuditOptions options{.replicates = 100, .weighted = tally.plan().weighted};
  return to_json(audit_tallies(tally, task, attributes, options, Exec{.seed = 1}));
}

TEST(CompatStates, AnAuditInPartsSaysWhatTheWholeSays) {
  for (const std::filesystem::path& release : test::releases()) {
    SCOPED_TRACE(release.filename());
    const auto read = [&](const std::string& name) {
      return test::unpacked(release / "states" / (name + ".state.gz"));
    };
    for (const std::string name : {"tally", "tally_weighted"}) {
      SCOPED_TRACE(name);
      const Tally whole = load<Tally>(read(name + ".all"));
      Tally merged = load<Tally>(read(name + ".second"));
      merged.merge(load<Tally>(read(name + ".first")));
      const FlipTally all_flips = load<FlipTally>(read("flips.all"));
      FlipTally flips = load<FlipTally>(read("flips.second"));
      flips.merge(load<FlipTally>(read("flips.first")));
      const std::string text = audit_text(whole, all_flips);
      EXPECT_NE(text.find("\"demographic_parity\""), std::string::npos);
      EXPECT_EQ(audit_text(merged, flips), text);
    }
  }
}

}  // namespace
}  // namespace fmd
