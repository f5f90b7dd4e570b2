#include "repro/curves.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace fmd::repro {

void Curves::add(const std::string& id, const NetworkNote& note) { notes_[id] = note; }

std::string Curves::json() const {
  if (notes_.empty()) return "";
  nlohmann::ordered_json rows = nlohmann::ordered_json::object();
  for (const auto& [id, note] : notes_) {
    nlohmann::ordered_json points = nlohmann::ordered_json::array();
    for (const auto& [step, figures] : note.curve) {
      nlohmann::ordered_json point = {{"step", step}};
      for (std::size_t k = 0; k < names_.size() && k < figures.size(); ++k)
        point[names_[k]] = figures[k];
      points.push_back(std::move(point));
    }
    rows[id] = std::move(points);
  }
  return nlohmann::ordered_json{{"curves", rows}}.dump();
}

std::string training_text(const BaselineCandidate& candidate) {
  return fmt::format("{}{}{} steps", candidate.setting,
                     candidate.setting.empty() ? "" : "; ", candidate.training.steps);
}

}  // namespace fmd::repro
