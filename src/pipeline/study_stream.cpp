#include "fmd/pipeline/study_stream.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "fmd/core/error.h"
#include "fmd/core/file.h"
#include "fmd/core/hash.h"
#include "fmd/data/table_stream.h"
#include "fmd/formats/features_file.h"
#include "pipeline/score_files.h"
#include "pipeline/study_parts.h"

namespace fmd {
namespace {

// Columns that a stream of this table has to keep.
std::vector<std::string> needed_columns(const Model& model, const Task& task,
                                        const StreamOptions& options) {
  std::vector<std::string> names = attribute_columns(task);
  for (const std::string& column : model.backbone->inputs().names())
    names.push_back(column);
  if (scores_of(model) != nullptr)
    for (const std::string& column : probability_columns(task)) names.push_back(column);
  if (!task.label.empty()) names.push_back(task.label);
  if (options.weights && !task.weight.empty()) names.push_back(task.weight);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

}  // namespace

struct StudyStream::State {
  const Model& model;
  const Task& task;
  StreamOptions options;
  Exec exec;

  std::string source;
  std::optional<TableStream> table;
  std::optional<FeaturesFile> features;
  std::vector<std::size_t> place;  // of the task's attributes among those of `features`
  std::vector<Attribute> attributes;
  std::vector<Reads> reads;
  bool labelled = false;
  Index rows = 0, row = 0;
  double twins = 0;  // share of the training rows that equal another one
  std::map<std::string, Index> unseen = {};  // cells with unseen categories so far

  void open(const DataSource& data) {
    source = data.name();
    if (options.attributes != nullptr) {
      if (data.is_features()) refuse_features(source);
    } else if (data.is_features()) {
      return open_features(source);
    }
    CsvOptions csv = table_options(model, task);
    const bool tensors = !model.backbone->inputs().tensors.empty();  // not in blocks
    if (options.whole || !data.in_blocks() || tensors) {
      // All columns: pairs may be joined or matched by columns that the model does not
      // read.
      Table whole = data.read(csv, exec);
      if (tensors) add_tensors(model, task, data.name(), whole);
      table.emplace(TableStream::of(std::make_shared<const Table>(std::move(whole))));
    } else {
      csv.keep = needed_columns(model, task, options);
      table.emplace(data.open(csv, exec));
    }
    if (const ScoresBackbone* scores = scores_of(model))
      scores->require_columns(source, table->names(), task);
    if (options.survey) survey();
  }

  // The first pass: which values there are, and how many rows.
  void survey() {
    std::vector<AttributeSurvey> surveys;
    if (options.attributes == nullptr)
      for (const AttributeSpec& spec : task.attributes)
        surveys.emplace_back(spec, exec.seed, model.backbone->inputs().names());
    Table block;
    while (table->next(block)) {
      if (rows == 0) labelled = has_labels(block, task, options.need_labels);
      for (AttributeSurvey& one : surveys) one.add(block);
      rows += block.rows();
      exec.report("looking at " + source, rows, estimate(rows));
    }
    for (const AttributeSurvey& one : surveys)
      attributes.push_back(known_to(model, one.finish(), exec));
    if (options.attributes != nullptr)
      for (const Attribute& known : *options.attributes)
        attributes.push_back(known_to(model, known, exec));
    table->rewind();
  }

  // An estimate of the number of all rows, after `read` of them.
  [[nodiscard]] Index estimate(Index read) const {
    const double share = table->share();
    return share > 0 ? static_cast<Index>(static_cast<double>(read) / share) : 0;
  }

  void open_features(const std::string& name) {
    features.emplace(FeaturesFile::open(name));
    const FeaturesNote& note = features->note();
    rows = note.rows;
    const Backbone& kept = model.backbone->kept();
    if (note.encoder != hex(kept.hash()) || note.cols != kept.cols()) {
      throw Error(ErrorKind::bad_model,
                  fmt::format("{}: these features were made by another model", name),
                  "make them again: fmd features MODEL DATA -o FILE");
    }
    labelled = !task.label.empty() && note.label == task.label;
    if (options.need_labels && !labelled) fail_absent(name, "label", task.label);
    if (labelled && note.classes != task.classes) {
      throw Error(
          ErrorKind::bad_model,
          fmt::format("{}: the classes of its labels are not those of the model", name),
          "make it again with this model: fmd features");
    }
    if (options.weights && !task.weight.empty() && note.weight != task.weight)
      fail_absent(name, "weight", task.weight);
    for (const AttributeSpec& spec : task.attributes) {
      const auto found =
          std::find_if(note.attributes.begin(), note.attributes.end(),
                       [&](const Attribute& a) { return a.name == spec.name; });
      if (found == note.attributes.end()) fail_absent(name, "attribute", spec.name);
      place.push_back(static_cast<std::size_t>(found - note.attributes.begin()));
      attributes.push_back(*found);
    }
  }

  [[noreturn]] static void fail_absent(const std::string& name, const char* what,
                                       const std::string& which) {
    throw Error(
        ErrorKind::missing_column,
        fmt::format("{}: this file of features has no {} \"{}\"", name, what, which),
        fmt::format("make it again with --{} {}", what, which));
  }

  bool next_features(Study& block) {
    const Index count = std::min(options.whole ? rows : kStreamRows, rows - row);
    if (count == 0) return false;
    block.X = model.backbone->of_kept(features->features(row, count), exec);
    if (labelled) block.y = features->labels(row, count);
    if (options.weights) {
      const auto weight = features->weights(row, count);
      block.weight.assign(weight.begin(), weight.end());
    }
    std::vector<std::unique_ptr<Features>> flips;
    for (const std::size_t k : place) {
      block.attributes.push_back(features->attribute(k, row, count));
      flips.push_back(features->flips(k, row, count));
    }
    block.flips = std::make_shared<Flips>(std::move(flips));
    // The file only has totals: they are reported with the first rows.
    block.seen = row == 0 ? features->note().seen : 0;
    block.missing_numbers = row == 0 ? features->note().missing_numbers : 0;
    row += count;
    return true;
  }

  bool next_rows(Table part, Study& block) {
    row += part.rows();
    block = study_of(model, std::move(part), task, options.need_labels, attributes, exec);
    if (options.weights) block.weight = row_weights(block.table, task.weight);
    for (const auto& [column, cells] : block.unseen) unseen[column] += cells;
    return true;
  }
};

StudyStream::StudyStream(const Model& model, const Task& task, const DataSource& data,
                         const StreamOptions& options, const Exec& exec)
    : state_(new State{.model = model,
                       .task = task,
                       .options = options,
                       .exec = exec,
                       .source = {},
                       .table = {},
                       .features = {},
                       .place = {},
                       .attributes = {},
                       .reads = {}}) {
  state_->open(data);
  for (const Attribute& a : state_->attributes) state_->reads.push_back(reads_of(model, a));
  state_->twins = twin_share(model.note.row_hashes);
}

StudyStream::StudyStream(StudyStream&&) noexcept = default;
StudyStream::~StudyStream() = default;

bool StudyStream::next(Study& block, const char* stage) {
  State& s = *state_;
  block = {};
  s.exec.report(stage, s.row, s.rows > 0 || !s.table ? s.rows : s.estimate(s.row));
  const Index first = s.row;
  bool more = false;
  if (s.features) {
    more = s.next_features(block);
  } else {
    Table part;
    more = s.table->next(part) && s.next_rows(std::move(part), block);
  }
  if (!more) note_unseen(s.source, std::exchange(s.unseen, {}), s.exec);
  block.source = block.table.source = s.source;
  block.first = first;
  block.reads = s.reads;
  if (block.seen >= 0) block.seen_by_chance = seen_by_chance();
  return more;
}

void StudyStream::rewind() {
  state_->row = 0;
  state_->unseen.clear();
  if (state_->table) state_->table->rewind();
}

Index StudyStream::rows() const { return state_->rows; }
const std::string& StudyStream::source() const { return state_->source; }
bool StudyStream::labelled() const { return state_->labelled; }
const std::vector<Attribute>& StudyStream::attributes() const { return state_->attributes; }
const std::vector<Reads>& StudyStream::reads() const { return state_->reads; }
double StudyStream::seen_by_chance() const {
  return state_->twins * static_cast<double>(state_->rows);
}

void write_features(const Model& model, const Task& task, StudyStream& stream,
                    const std::string& sha256, OutputFiles& files,
                    const std::filesystem::path& target) {
  const Backbone& kept = model.backbone->kept();
  FeaturesNote note;
  note.rows = stream.rows();
  note.cols = kept.cols();
  note.places = kept.sparsity().entries;
  note.ones = kept.sparsity().ones;
  note.encoder = hex(kept.hash());
  note.source = stream.source();
  note.source_sha256 = sha256;
  if (stream.labelled()) note.label = task.label;
  note.classes = task.classes;
  note.weight = task.weight;
  note.attributes = stream.attributes();
  std::vector<std::size_t> flipped;  // attributes that the backbone must run again for
  for (std::size_t k = 0; k < note.attributes.size(); ++k) {
    Attribute& a = note.attributes[k];
    a.code.clear(), a.group.clear();
    if (kept.flips_features() || !a.flips() || !kept.inputs().reads(a)) continue;
    flipped.push_back(k);
    note.flips.push_back(a.name);
  }
  Study block;
  if (!stream.next(block, "encoding")) return;
  Scratch scratch;
  note.outputs = block.X->block(0, scratch).outputs;
  FeaturesWriter writer(files, target, note);
  Index seen = 0, missing = 0;
  do {
    std::vector<FeaturesWriter::Flips> flips;
    for (const std::size_t k : flipped) {
      const Attribute& a = block.attributes[k];
      PairPlan plan = flip_plan(a);
      auto made = flipped_features(model, block, a, plan, {});
      flips.push_back({k, std::move(plan), std::move(made)});
    }
    writer.add(*block.X, block.y, block.weight, block.attributes, flips);
    seen = block.seen < 0 || seen < 0 ? -1 : seen + block.seen;
    missing += block.missing_numbers;
  } while (stream.next(block, "encoding"));
  writer.finish(seen, stream.seen_by_chance(), missing);
}

Study whole_study(const Model& model, const Task& task, const DataSource& data,
                  const StreamOptions& options, OutputFiles& files,
                  const std::filesystem::path& spill, const Exec& exec) {
  StreamOptions whole = options;
  whole.whole = true;
  DataSource from = data;
  if (!spill.empty() && !data.is_features()) {
    StreamOptions parts = options;
    parts.weights = options.weights && !task.weight.empty();
    StudyStream stream(model, task, data, parts, exec);
    Task plain = task;
    if (!parts.weights) plain.weight.clear();
    files.reserve_nameless(spill);
    write_features(model, plain, stream, "", files, spill);
    from = DataSource::file(files.temporary(spill).string());
  }
  StudyStream stream(model, task, from, whole, exec);
  Study study;
  if (!stream.next(study, "reading")) {
    throw Error(ErrorKind::bad_data, fmt::format("{}: there are no rows", data.name()),
                "give a file with rows");
  }
  study.source = data.name();
  return study;
}

}  // namespace fmd
