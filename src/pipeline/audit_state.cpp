#include "fmd/pipeline/audit_state.h"

#include <algorithm>

#include <fmt/format.h>

#include "fmd/core/error.h"
#include "fmd/core/hash.h"
#include "fmd/data/table_stream.h"
#include "metrics/tally/saved_state.h"
#include "pipeline/audit_warnings.h"
#include "pipeline/score_files.h"
#include "pipeline/study_parts.h"

namespace fmd {
namespace {

constexpr std::uint32_t kAuditFormat = 2;  // 1: without what warnings need

// Small cells are not shown, so they are not compared.
Index least_rows(Index asked, const AuditOptions& options) {
  return options.include_rows ? asked : std::max(asked, kMaskedRows);
}

// reference: -1 = none is named; then comparisons start from usual.
GroupOptions group_options(const Task& task, const AuditOptions& options, int reference,
                           int usual) {
  return {.confidence = options.confidence,
          .replicates = options.replicates,
          .min_rows = least_rows(task.min_group, options),
          .min_label = least_rows(task.min_label, options),
          .reference = reference,
          .usual = usual,
          .by_name = options.by_name,
          .intervals = options.intervals,
          .permutations = options.permutations};
}

// Where comparisons start when no reference is named: the largest group. Nobody is compared
// with people whose value is missing, even when they are the largest group.
int usual_of(const Attribute& attribute, const std::vector<GroupTally>& groups,
             const Task& task) {
  const bool missing = attribute.groups.size() > attribute.values.size();
  if (attribute.reference >= 0 || !missing) return -1;
  int largest = 0;
  const auto rows = [&](int g) { return groups[static_cast<std::size_t>(g)].all().rows; };
  for (int g = 1; g < static_cast<int>(attribute.values.size()); ++g)
    if (rows(g) > rows(largest)) largest = g;
  return rows(largest) < task.min_group ? -1 : largest;
}

void judge_limits(const Task& task, AuditReport& report) {
  require_limits(task);
  for (const Limit& limit : task.limits) {
    for (const AttributeAudit& audit : report.attributes)
      if (limit.attribute.empty() || limit.attribute == audit.name)
        report.limits.push_back(judge_limit(audit, limit));
  }
  report.verdict = overall(report.limits);
}

// Codes of the plan are those of Attribute::group.
TallyPlan audit_plan(const Model& model, const std::vector<Attribute>& attributes,
                     bool labelled, const AuditOptions& options) {
  TallyPlan plan{.classes = static_cast<Index>(model.task.classes.size()),
                 .favorable = model.task.favorable_class(),
                 .values = {},
                 .crossed = options.intersections,
                 .labelled = labelled,
                 .weighted = options.weighted};
  for (const Attribute& attribute : attributes)
    plan.values.push_back(static_cast<Index>(attribute.groups.size()));
  return plan;
}

AttributeAudit audit_of(const Tally& tally, const Task& task, Index a,
                        const TalliedAttribute& own, const AuditOptions& options,
                        const Exec& exec) {
  const Attribute& attribute = *own.attribute;
  AttributeAudit audit;
  audit.name = attribute.name;
  audit.values = attribute.values;
  audit.cuts = attribute.cuts;
  for (const Mirror& mirror : attribute.mirrors)
    (mirror.flipped ? audit.mirrors : audit.mirrors_left).push_back(mirror.column);
  audit.reads = own.reads;
  audit.pairs = own.pairs_kind;
  if (own.flips) {
    audit.flip = flip_report(*own.flips,
                             {.confidence = options.confidence,
                              .replicates = options.replicates,
                              .min_rows = least_rows(task.min_group, options),
                              .intervals = options.intervals},
                             exec);
    for (FlipFigure& figure : audit.flip->figures)
      if (figure.label >= 0)
        figure.about = task.classes[static_cast<std::size_t>(figure.label)];
  } else {
    audit.flip_reason = own.reads == Reads::no ? "not_an_input"
                        : attribute.flips()    ? "no_pairs"
                                               : "ranges_of_a_number";
  }
  audit.slope = own.slope;
  if (!own.slope)
    audit.slope_reason = own.reads == Reads::no        ? "not_an_input"
                         : own.reads == Reads::unknown ? "no_model"
                                                       : "read_as_categories";
  audit.match = own.match;
  const Index alone[] = {a};
  const int usual = usual_of(attribute, tally.groups(alone), task);
  audit.groups =
      group_report(tally, alone, attribute.name, attribute.groups,
                   group_options(task, options, attribute.reference, usual), exec);
  return audit;
}

void add_intersections(const Tally& tally, const Task& task,
                       const std::vector<TalliedAttribute>& attributes,
                       const AuditOptions& options, const Exec& exec, AuditReport& report) {
  for (Index a = 0; a < static_cast<Index>(attributes.size()); ++a) {
    for (Index b = a + 1; b < static_cast<Index>(attributes.size()); ++b) {
      const Attribute& first = *attributes[static_cast<std::size_t>(a)].attribute;
      const Attribute& second = *attributes[static_cast<std::size_t>(b)].attribute;
      std::vector<std::string> cells;
      for (const std::string& x : first.groups)
        for (const std::string& y : second.groups) cells.push_back(x + " x " + y);
      const Index both[] = {a, b};
      report.intersections.push_back(
          group_report(tally, both, fmt::format("{} x {}", first.name, second.name), cells,
                       group_options(task, options, -1, -1), exec));
    }
  }
}

// Scores of another program and features without their table have no inputs to compare.
bool tells_rows_apart(const Table& table, const std::vector<std::string>& columns) {
  return columns.size() > 1 && table.tensors.empty() &&
         std::all_of(columns.begin(), columns.end(),
                     [&](const std::string& name) { return table.find(name) != nullptr; });
}

void put_texts(ByteWriter& out, const std::vector<std::string>& texts) {
  out.put(static_cast<std::uint64_t>(texts.size()));
  for (const std::string& text : texts) out.put_text(text);
}

std::vector<std::string> get_texts(ByteReader& in) {
  std::vector<std::string> texts;
  for (auto left = in.get<std::uint64_t>(); left > 0; --left)
    texts.push_back(in.get_text());
  return texts;
}

void put_attribute(ByteWriter& out, const Attribute& attribute) {
  out.put_text(attribute.name);
  put_texts(out, attribute.columns);
  put_texts(out, attribute.values);
  put_texts(out, attribute.groups);
  put_all(out, attribute.cuts);
  out.put(attribute.reference);
  out.put(attribute.missing);
}

// Cells and codes are not kept: nothing is flipped any more.
Attribute get_attribute(ByteReader& in) {
  Attribute a;
  a.name = in.get_text();
  a.columns = get_texts(in);
  a.values = get_texts(in);
  a.groups = get_texts(in);
  a.cuts = in.get_array<double>();
  a.reference = in.get<std::int32_t>();
  a.missing = in.get<Index>();
  const std::size_t values = a.values.size(), groups = a.groups.size();
  const bool fits = values >= 2 && (groups == values || groups == values + 1) &&
                    (a.cuts.empty() || a.cuts.size() + 1 == values) && a.reference >= -1 &&
                    a.reference < static_cast<std::int32_t>(values) && a.missing >= 0;
  if (!fits) damaged_state("audit");
  return a;
}

}  // namespace

AuditReport audit_tallies(const Tally& tally, const Task& task,
                          const std::vector<TalliedAttribute>& attributes,
                          const AuditOptions& options, const Exec& exec) {
  AuditReport report;
  report.rows = tally.rows();
  report.task = task;
  report.confidence = options.confidence;
  report.replicates = options.replicates;
  report.permutations = options.permutations;
  report.include_rows = options.include_rows;
  report.intervals = options.intervals;
  report.seed = exec.seed;
  report.weighted = tally.plan().weighted;
  report.accuracy = accuracy(tally, options.confidence);
  report.log_loss = log_loss(tally);
  report.calibration_error = calibration_error(tally);
  for (std::size_t a = 0; a < attributes.size(); ++a)
    report.attributes.push_back(
        audit_of(tally, task, static_cast<Index>(a), attributes[a], options, exec));
  if (options.intersections)
    add_intersections(tally, task, attributes, options, exec, report);
  judge_limits(task, report);
  return report;
}

AuditState::AuditState(const Model& model, std::vector<Attribute> attributes,
                       std::vector<Reads> reads,
                       const std::vector<std::optional<PairKind>>& kinds, bool labelled,
                       const AuditOptions& options, std::uint64_t seed)
    : task_(model.task),
      options_(options),
      seed_(seed),
      kind_(scores_of(model) != nullptr ? "" : kind_of(model)),
      tally_(audit_plan(model, attributes, labelled, options)),
      twins_(twin_share(model.note.row_hashes)),
      trained_on_(std::ssize(model.note.row_hashes)) {
  for (std::size_t a = 0; a < attributes.size(); ++a) {
    Counted own;
    own.attribute = std::move(attributes[a]);
    own.attribute.code.clear(), own.attribute.group.clear();
    own.reads = reads[a];
    if (kinds[a]) {
      own.pairs = *kinds[a];
      own.flips.emplace(FlipPlan{.classes = static_cast<Index>(model.task.classes.size()),
                                 .values = static_cast<Index>(own.attribute.values.size()),
                                 .by_value = kinds[a] == PairKind::flip,
                                 .figures = options.by_name});
    }
    own.slope = SlopeTally::of(model, own.attribute);
    attributes_.push_back(std::move(own));
  }
}

void AuditState::add(const Model& model, const Study& block, const Scored& scored,
                     const std::vector<std::optional<PairScores>>& pairs,
                     const Exec& exec) {
  ScoredBlock rows = block_of(scored);
  for (const Attribute& a : block.attributes) rows.code.emplace_back(a.group);
  std::vector<float> weight;
  if (options_.weighted)
    weight = block.weight.empty() ? audit_weights(block.table, task_) : block.weight;
  rows.weight = weight;
  // A tally has to be made for each thread: that pays for many rows.
  if (rows.rows > 4 * kStreamRows) {
    tally_.merge(tally(tally_.plan(), rows, exec));
  } else {
    tally_.add(rows);
  }
  for (std::size_t a = 0; a < attributes_.size(); ++a) {
    Counted& own = attributes_[a];
    if (own.slope)
      own.slope->add(model, block.rows(), scored.p, block.attributes[a].code, exec);
    if (pairs[a]) add_pairs(a, *pairs[a]);
  }
  seen_ = block.seen < 0 || seen_ < 0 ? -1 : seen_ + block.seen;
  missing_numbers_ += block.missing_numbers;
  if (const auto columns = model.hashed_columns(); tells_rows_apart(block.table, columns))
    row_twins_.add(study_hashes(block, columns));
}

void AuditState::add_pairs(std::size_t attribute, const PairScores& pairs) {
  if (std::optional<FlipTally>& flips = attributes_[attribute].flips) flips->add(pairs);
}

AuditReport AuditState::report(
    const Exec& on, const std::vector<std::optional<MatchReport>>& matches) const {
  Exec exec = on;
  exec.seed = seed_;
  if (survey_rows_ >= 0 && tally_.rows() != survey_rows_) {
    throw Error(ErrorKind::bad_data,
                fmt::format("merge: the states hold {} of the {} rows of their survey",
                            tally_.rows(), survey_rows_),
                "give the state of every part, each once");
  }
  std::vector<TalliedAttribute> tallied;
  for (std::size_t a = 0; a < attributes_.size(); ++a) {
    const Counted& own = attributes_[a];
    TalliedAttribute one{&own.attribute, own.reads, own.flips, own.pairs, std::nullopt};
    if (!matches.empty()) one.match = matches[a];
    // Scores of another program need not have pairs of every attribute.
    if (own.flips && own.reads == Reads::unknown && own.flips->pairs() == 0)
      one.flips.reset();
    if (own.slope) one.slope = own.slope->report(options_, exec);
    tallied.push_back(std::move(one));
  }
  AuditReport report = audit_tallies(tally_, task_, tallied, options_, exec);
  report.kind = kind_;
  report.seen = seen_;
  report.seen_by_chance = twins_ * static_cast<double>(tally_.rows());
  report.missing_numbers = missing_numbers_;
  add_warnings({tally_, row_twins_, twins_, trained_on_, model_threshold_}, options_.allow,
               report);
  report.model = model_;
  report.model_sha256 = model_sha256_;
  for (const AuditPiece& piece : pieces_)
    report.data += (report.data.empty() ? "" : ", ") + piece.name;
  if (pieces_.size() == 1) report.data_sha256 = pieces_[0].sha256;
  return report;
}

void AuditState::put_options(ByteWriter& out) const {
  out.put(seed_);
  out.put(options_.confidence);
  for (const Index n : {options_.replicates, options_.permutations}) out.put(n);
  for (const bool flag : {options_.intervals == Bootstrap::bca, options_.intersections,
                          options_.by_name, options_.weighted, options_.include_rows})
    out.put(static_cast<std::uint8_t>(flag));
  put_texts(out, options_.allow);
}

void AuditState::get_options(ByteReader& in, std::uint32_t format) {
  seed_ = in.get<std::uint64_t>();
  options_.confidence = in.get<double>();
  options_.replicates = in.get<Index>();
  options_.permutations = in.get<Index>();
  const auto flag = [&] { return in.get<std::uint8_t>() != 0; };
  options_.intervals = flag() ? Bootstrap::bca : Bootstrap::percentile;
  options_.intersections = flag();
  options_.by_name = flag();
  options_.weighted = flag();
  options_.include_rows = flag();
  if (format >= 2) options_.allow = get_texts(in);
  constexpr Index kMost = 1'000'000;
  if (!(options_.confidence > 0 && options_.confidence < 1) || options_.replicates < 0 ||
      options_.replicates > kMost || options_.permutations < 0 ||
      options_.permutations > kMost)
    damaged_state("audit");
}

void AuditState::merge(const AuditState& other) {
  if (model_id_ != other.model_id_) {
    throw Error(ErrorKind::wrong_model,
                fmt::format("merge: the states are of other models or tasks ({}, {})",
                            model_.empty() ? "a model" : model_,
                            other.model_.empty() ? "a model" : other.model_),
                "make every state with the same model and the same task");
  }
  ByteWriter own, others;
  put_options(own);
  other.put_options(others);
  if (survey_id_ != other.survey_id_ || own.bytes() != others.bytes()) {
    throw Error(ErrorKind::bad_option,
                survey_id_ != other.survey_id_
                    ? "merge: the states are of other surveys"
                    : "merge: the states were made with other options",
                "make every state with the same options and the same merged survey");
  }
  for (const AuditPiece& piece : other.pieces_) {
    const auto twin = std::find_if(pieces_.begin(), pieces_.end(), [&](const auto& known) {
      return known.name == piece.name && known.sha256 == piece.sha256;
    });
    if (twin == pieces_.end()) continue;
    throw Error(ErrorKind::bad_option,
                fmt::format("merge: the rows of {} are in two states", piece.name),
                "give the state of every part once");
  }
  if (attributes_.size() != other.attributes_.size()) damaged_state("audit");
  tally_.merge(other.tally_);
  for (std::size_t a = 0; a < attributes_.size(); ++a) {
    Counted& to = attributes_[a];
    const Counted& from = other.attributes_[a];
    if (to.flips.has_value() != from.flips.has_value() ||
        to.slope.has_value() != from.slope.has_value())
      damaged_state("audit");
    if (to.flips) to.flips->merge(*from.flips);
    if (to.slope) to.slope->merge(*from.slope);
  }
  seen_ = seen_ < 0 || other.seen_ < 0 ? -1 : seen_ + other.seen_;
  missing_numbers_ += other.missing_numbers_;
  row_twins_.merge(other.row_twins_);
  pieces_.insert(pieces_.end(), other.pieces_.begin(), other.pieces_.end());
  std::sort(pieces_.begin(), pieces_.end(), [](const auto& a, const auto& b) {
    return a.name != b.name ? a.name < b.name : a.sha256 < b.sha256;
  });
}

void AuditState::save(ByteWriter& out) const {
  out.put(kAuditFormat);
  for (const std::string* text : {&model_, &model_sha256_, &model_id_, &survey_id_, &kind_})
    out.put_text(*text);
  out.put_text(to_json(task_));
  put_options(out);
  out.put(survey_rows_);
  for (const Index n : {seen_, missing_numbers_}) out.put(n);
  out.put(twins_);
  out.put(trained_on_);
  out.put(model_threshold_);
  row_twins_.save(out);
  out.put(static_cast<std::uint64_t>(pieces_.size()));
  for (const AuditPiece& piece : pieces_) {
    out.put_text(piece.name);
    out.put_text(piece.sha256);
    out.put(piece.rows);
  }
  tally_.save(out);
  out.put(static_cast<std::uint64_t>(attributes_.size()));
  for (const Counted& own : attributes_) {
    put_attribute(out, own.attribute);
    out.put(static_cast<std::uint8_t>(own.reads));
    out.put_text(to_string(own.pairs));
    out.put(static_cast<std::uint8_t>(own.flips.has_value()));
    if (own.flips) own.flips->save(out);
    out.put(static_cast<std::uint8_t>(own.slope.has_value()));
    if (own.slope) own.slope->save(out);
  }
}

AuditState AuditState::load(ByteReader& in) {
  const auto format = in.get<std::uint32_t>();
  if (format < 1 || format > kAuditFormat) damaged_state("audit");
  AuditState state;
  for (std::string* text : {&state.model_, &state.model_sha256_, &state.model_id_,
                            &state.survey_id_, &state.kind_})
    *text = in.get_text();
  state.task_ = task_from_json(in.get_text(), "audit");
  state.get_options(in, format);
  state.survey_rows_ = in.get<Index>();
  state.seen_ = in.get<Index>();
  state.missing_numbers_ = in.get<Index>();
  state.twins_ = in.get<double>();
  if (format >= 2) {
    state.trained_on_ = in.get<Index>();
    state.model_threshold_ = in.get<double>();
    state.row_twins_ = RowTwins::load(in);
  }
  for (auto left = in.get<std::uint64_t>(); left > 0; --left) {
    AuditPiece piece{in.get_text(), in.get_text(), 0};
    piece.rows = in.get<Index>();
    state.pieces_.push_back(std::move(piece));
  }
  state.tally_ = Tally::load(in);
  for (auto left = in.get<std::uint64_t>(); left > 0; --left) {
    Counted own;
    own.attribute = get_attribute(in);
    const auto reads = in.get<std::uint8_t>();
    if (reads > 2) damaged_state("audit");
    own.reads = static_cast<Reads>(reads);
    // Other pairs look at all rows together: they are not audited in parts.
    if (in.get_text() != to_string(PairKind::flip)) damaged_state("audit");
    if (in.get<std::uint8_t>() != 0) own.flips = FlipTally::load(in);
    if (in.get<std::uint8_t>() != 0) own.slope = SlopeTally::load(in);
    state.attributes_.push_back(std::move(own));
  }
  state.check();
  return state;
}

void AuditState::check() const {
  const TallyPlan& plan = tally_.plan();
  const auto classes = static_cast<Index>(task_.classes.size());
  bool fits =
      classes >= 2 && plan.classes == classes &&
      plan.favorable == task_.favorable_class() && plan.crossed == options_.intersections &&
      plan.weighted == options_.weighted && plan.values.size() == attributes_.size() &&
      seen_ >= -1 && missing_numbers_ >= 0 && twins_ >= 0 && twins_ <= 1 &&
      tally_.rows() >= 0 && survey_rows_ >= tally_.rows();
  Index rows = 0;
  for (const AuditPiece& piece : pieces_) {
    fits = fits && piece.rows >= 0 && piece.rows <= tally_.rows() - rows;
    if (!fits) damaged_state("audit");
    rows += piece.rows;
  }
  fits = fits && rows == tally_.rows();
  for (std::size_t a = 0; fits && a < attributes_.size(); ++a) {
    const Counted& own = attributes_[a];
    const auto values = static_cast<Index>(own.attribute.values.size());
    fits = plan.values[a] == static_cast<Index>(own.attribute.groups.size());
    if (!fits || !own.flips) continue;
    const FlipPlan& flips = own.flips->plan();
    fits = flips.classes == classes && flips.values == values && flips.by_value &&
           flips.figures == options_.by_name && own.flips->units() <= tally_.rows();
  }
  if (!fits) damaged_state("audit");
}

namespace {

constexpr std::string_view kSurveyWord = "fmd survey", kAuditWord = "fmd audit";

template <typename State>
Bytes bytes_of(const State& state, std::string_view word) {
  ByteWriter out;
  out.put_text(word);
  state.save(out);
  const Hash hash = sha256(out.bytes());
  out.put_raw(hash.data(), hash.size());
  return out.take();
}

}  // namespace

Bytes state_bytes(const SurveyState& state) { return bytes_of(state, kSurveyWord); }
Bytes state_bytes(const AuditState& state) { return bytes_of(state, kAuditWord); }

SavedState parse_state(std::span<const std::uint8_t> bytes, const std::string& source) {
  const auto fail = [&](const std::string& what) -> Error {
    return Error(ErrorKind::bad_model, fmt::format("{}: {}", source, what),
                 "give files that `fmd audit --survey` or `fmd audit --partial` wrote");
  };
  constexpr std::size_t kHash = sizeof(Hash);
  if (bytes.size() < kHash) throw fail("this is not the state of an audit");
  const auto body = bytes.first(bytes.size() - kHash);
  ByteReader in(body, source);
  try {
    const std::string word = in.get_text();
    if (word != kSurveyWord && word != kAuditWord) throw fail("");
    const Hash hash = sha256(body);
    if (!std::equal(hash.begin(), hash.end(), bytes.end() - kHash)) throw fail("");
    SavedState state = word == kSurveyWord ? SavedState(SurveyState::load(in))
                                           : SavedState(AuditState::load(in));
    if (in.left() > 0) throw fail("");
    return state;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::unsupported) throw;
    throw fail("this is not the state of an audit, or it is damaged");
  }
}

}  // namespace fmd
