#include "fmd/repro/coverage_page.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

namespace fmd {
namespace {

constexpr const char* kHead = R"(# Coverage of the intervals

A 95 % interval of an audit should hold the figure of the population in 95 of 100 samples. This page is made by a
simulation:

```console
$ fmd coverage --draws 2 --replicates 50 --rows 600 -o small.md
```

| option | meaning | allowed values | default |
|---|---|---|---|
| `--draws N` | samples of each population and size | from 1 | 2000 |
| `--rows N,N` | sizes of the samples | from 200 | 600,6000 |
| `--replicates N` | replicates of every bootstrap | 50 to 1000000 | 1000 |
| `--journal FILE` | what has been counted so far; a run that was stopped goes on from there | | none |
| `-o`, `--out FILE` | the page | | the screen |
| `--force` | replace OUT if it exists | | off |

The rest is in [options](options.md).

Three populations: **alike**, three groups of equal size that do not differ; **two**, two groups of equal size that do, so that chance says
which one is the larger in a sample; **five** groups of different sizes. A population is a list of 60,000 rows, so its figures are known
exactly; samples are drawn with replacement. No reference group is named.

What is asked for:

- **mean**: a share, a mean, and what is computed from one table: 93 to 97 %.
- **largest**: the largest gap of any pair of groups, the smallest ratio, the worst group, a size that is never below 0: at least 93 %. These
  intervals hold for all pairs together, so they often cover more than 95 %.
- **together**: all comparisons with the largest group of the sample at once: at least 93 %.
- **quantile**: of the gaps of rows, by counting rows: at least 93 %. The scores here have 20 different values, so the quantile of a sample is
  mostly the population's own.

The share is marked with * where it is not that, by more than two standard errors of the simulation. "-": there is no interval, or nothing
varies (where all groups are alike no flip changes a score). The intervals say how figures vary with
the rows that were measured. They do not say how they would vary with another training of the model.
)";

std::string share_of(const CoverageSetting& setting, const std::string& name) {
  const auto found = setting.figures.find(name);
  if (found == setting.figures.end() || found->second.intervals == 0) return "-";
  const CoveredFigure& figure = found->second;
  return fmt::format(
      "{:.1f}{}",
      100 * static_cast<double>(figure.inside) / static_cast<double>(figure.intervals),
      covers(figure) ? "" : " *");
}

// Outside the bar, but by less than the error of the simulation.
bool is_near_miss(const CoveredFigure& figure) {
  const double share =
      static_cast<double>(figure.inside) / static_cast<double>(figure.intervals);
  return covers(figure) &&
         (share < .93 || (figure.kind == CoverageKind::mean && share > .97));
}

const char* word(CoverageKind kind) {
  return kind == CoverageKind::mean       ? "mean"
         : kind == CoverageKind::largest  ? "largest"
         : kind == CoverageKind::quantile ? "quantile"
                                          : "together";
}

}  // namespace

std::string coverage_page(const std::vector<CoverageSetting>& settings,
                          const CoverageOptions& options, std::uint64_t seed) {
  std::string page = kHead;
  page += fmt::format("\nThis run: seed {}, {} replicates;", seed, options.replicates);
  std::map<std::string, CoverageKind> names;
  std::string head = "| figure | kind |", rule = "|---|---|";
  for (const CoverageSetting& setting : settings) {
    page +=
        fmt::format("{} {} draws of {} rows of {}", &setting == settings.data() ? "" : ",",
                    setting.draws, setting.rows, setting.population);
    head += fmt::format(" {}, {} |", setting.population, setting.rows);
    rule += "---|";
    for (const auto& [name, figure] : setting.figures) names[name] = figure.kind;
  }
  page += fmt::format(".\n\n{}\n{}\n", head, rule);
  Index cells = 0, missed = 0;
  std::vector<std::string> near;
  for (const auto& [name, kind] : names) {
    page += fmt::format("| {} | {} |", name, word(kind));
    for (const CoverageSetting& setting : settings) {
      const std::string share = share_of(setting, name);
      page += fmt::format(" {} |", share);
      cells += share != "-";
      missed += share.ends_with("*");
      if (const auto found = setting.figures.find(name);
          share != "-" && is_near_miss(found->second))
        near.push_back(
            fmt::format("{} ({}, {}) {}", name, setting.population, setting.rows, share));
    }
    page += "\n";
  }
  page += fmt::format("\n{} of {} shares are as they should be", cells - missed, cells);
  page += near.empty() ? ".\n"
                       : fmt::format(
                             "; {} of these lie outside by less than the error of the "
                             "simulation: {}.\n",
                             near.size(), fmt::join(near, "; "));
  Index fewest = settings.empty() ? 1 : settings[0].draws;
  for (const CoverageSetting& setting : settings) fewest = std::min(fewest, setting.draws);
  page += fmt::format(
      "With {} draws a share of 95 % has a standard error of {:.1f} points. ece, mce, "
      "bias_amplification and\nbetween_group_entropy have no interval: a sample shows more "
      "of them than there is, and resampling adds to it.\n",
      fewest, 100 * std::sqrt(.95 * .05 / static_cast<double>(std::max<Index>(1, fewest))));
  page += "\nSee also: [audit](audit.md), [metrics](metrics.md).\n";
  return page;
}

}  // namespace fmd
