#include "fmd/language/seat.h"

#include <cmath>

#include <gtest/gtest.h>

#include "fmd/core/rng.h"
#include "support/close.h"
#include "support/files.h"

namespace fmd {
namespace {

Matrix rows_of(std::initializer_list<std::pair<double, double>> rows) {
  Matrix m(static_cast<Index>(rows.size()), 2);
  Index i = 0;
  for (const auto& [a, b] : rows) {
    m(i, 0) = a;
    m(i++, 1) = b;
  }
  return m;
}

TEST(Seat, AnAssociationByHand) {
  // cos to A = (1, 0) minus cos to B = (0, 1): X has 1 and .2, Y has -1 and -.2.
  const Matrix X = rows_of({{2, 0}, {.8, .6}}), Y = rows_of({{0, 3}, {.6, .8}});
  const Matrix A = rows_of({{5, 0}}), B = rows_of({{0, 1}});
  const SeatResult result = seat(X, Y, A, B, {});
  EXPECT_CLOSE(result.effect, 1.2 / std::sqrt(2.08 / 3), 1e-12);
  EXPECT_TRUE(result.exact);
  EXPECT_EQ(result.divisions, 6);
  EXPECT_CLOSE(result.p_value, 1.0 / 6, 1e-12);
  EXPECT_CLOSE(seat(Y, X, A, B, {}).effect, -result.effect, 1e-12);
  EXPECT_CLOSE(seat(Y, X, A, B, {}).p_value, 1.0, 1e-12);
  EXPECT_ERROR(seat(Matrix(0, 2), Y, A, B, {}), ErrorKind::bad_shape, "a set is empty");
}

// Random divisions estimate what all divisions give.
TEST(Seat, ManySentencesAreDividedAtRandom) {
  Rng rng(3, "seat test");
  Matrix X(12, 2), Y(12, 2);
  for (Index i = 0; i < 12; ++i) {
    X.row(i) << std::cos(.1 * static_cast<double>(i) + .3 * rng.uniform()), .5;
    Y.row(i) << std::cos(.1 * static_cast<double>(i) + .3 * rng.uniform()), .5;
  }
  const SeatResult result = seat(X, Y, rows_of({{1, 0}}), rows_of({{0, 1}}), {});
  EXPECT_FALSE(result.exact);
  EXPECT_EQ(result.divisions, 20000);
  EXPECT_GT(result.p_value, .05);
  EXPECT_LT(result.p_value, .95);
}

TEST(Seat, EmbeddingsOfAModel) {
  const LanguageModel model = LanguageModel::open(test::kFiles / "lm/llama");
  const Matrix two = sentence_embeddings(model, {"The nurse", "The nurse was tall."}, {});
  const Matrix one = sentence_embeddings(model, {"The nurse was tall."}, {});
  EXPECT_CLOSE(two.row(1), one.row(0), 1e-6);
  const TokenIds tokens = model.tokenizer().encode("The nurse");
  StatePlan plan{.nodes = {{-1, model.first_token()}}, .inputs = {}, .position = {}};
  for (std::size_t k = 0; k < tokens.size(); ++k)
    plan.nodes.push_back({static_cast<Index>(k), tokens[k]});
  const FloatMatrix states = model.states(plan, {});
  EXPECT_CLOSE(two.row(0), states.bottomRows(std::ssize(tokens)).colwise().mean(), 1e-5);
}

TEST(Seat, ReadsItsFormat) {
  const char* good =
      R"({"targ1": {"category": "Flowers", "examples": ["A rose."]}, "targ2": {"examples": ["A fly."]},
          "attr1": {"examples": ["Love."]}, "attr2": {"examples": ["Hate.", "War."]}})";
  const SeatTest test = parse_seat(good, "seat.jsonl");
  EXPECT_EQ(test.target1.category, "Flowers");
  EXPECT_EQ(test.target2.category, "targ2");
  EXPECT_EQ(test.attribute2.examples.size(), 2u);
  EXPECT_ERROR(parse_seat("{\"targ1\": {\"examples\": []}}", "f"), ErrorKind::bad_data,
               "f: \"targ1\" has no examples");
  EXPECT_ERROR(parse_seat("[1]", "f"), ErrorKind::bad_data, "\"targ1\" is missing");
}

}  // namespace
}  // namespace fmd
