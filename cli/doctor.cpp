#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "fmd/core/blas.h"
#include "fmd/core/machine.h"
#include "fmd/data/datasets.h"
#include "fmd/formats/model_file.h"
#include "fmd/version.h"

namespace fmd::cli {
namespace {

struct DoctorArgs {
  Common common;
};

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const ModelFormat& format : model_formats()) names.push_back(format.name);
  return names;
}

int run_doctor(const DoctorArgs& args) {
  const Session session(args.common);
  const BlasInfo blas = blas_info();
  const MachineInfo machine = machine_info();
  const MachineRates rates = measure_machine(0.5);
  const double memory_gb = static_cast<double>(machine.memory) / 1e9;
  const bool slow = blas.kernel == "Prescott" && !best_kernel().empty();
  if (args.common.json) {
    const nlohmann::ordered_json json = {
        {"schema", 1},
        {"command", "doctor"},
        {"version", version()},
        {"cpu", machine.cpu},
        {"cores", machine.cores},
        {"memory_gb", memory_gb},
        {"threads", session.exec().pool->threads()},
        {"blas",
         {{"library", blas.library}, {"kernel", blas.kernel}, {"repaired", blas.repaired}}},
        {"gemm_f64_gflops", rates.gemm_f64},
        {"gemm_f32_gflops", rates.gemm_f32},
        {"memory_read_gb_s", rates.memory_read},
        {"memory_copy_gb_s", rates.memory_copy},
        {"cpu_share", rates.cpu_share},
        {"formats", format_names()}};
    print(json);
    return slow ? 1 : 0;
  }
  std::string out;
  out += fmt::format("fmd      {}\n", version());
  out += fmt::format("cpu      {}, {} cores, {:.0f} GB of memory\n", machine.cpu,
                     machine.cores, memory_gb);
  out += fmt::format("threads  {}\n", session.exec().pool->threads());
  out += fmt::format("BLAS     {}\n", blas.library.empty() ? "unknown" : blas.library);
  out += fmt::format(
      "kernel   {}{}\n", blas.kernel.empty() ? "unknown" : blas.kernel,
      blas.repaired ? " (chosen by fmd: the library took this CPU for a Pentium 4)" : "");
  out += fmt::format("GEMM     {:.0f} GFLOP/s double, {:.0f} float, one thread\n",
                     rates.gemm_f64, rates.gemm_f32);
  out += fmt::format("memory   {:.1f} GB/s read, {:.1f} GB/s copy, one thread\n",
                     rates.memory_read, rates.memory_copy);
  if (rates.cpu_share < 0.8)
    out +=
        fmt::format("note     the machine was busy: this process had {:.0f} % of a core\n",
                    100 * rates.cpu_share);
  out += fmt::format("data     {}\n", data_folder().string());
  out += fmt::format("models   {}\n", fmt::join(format_names(), ", "));
  if (slow)
    out +=
        fmt::format("PROBLEM  the BLAS runs its oldest kernel; set OPENBLAS_CORETYPE={}\n",
                    best_kernel());
  print(out);
  return slow ? 1 : 0;
}

}  // namespace

void add_doctor(CLI::App& app) {
  auto args = std::make_shared<DoctorArgs>();
  auto* cmd = app.add_subcommand(
      "doctor", "Show BLAS kernel, threads, and measured GEMM and memory rates");
  add_common(*cmd, args->common);
  cmd->footer("\nExample\n  fmd doctor --json");
  on_run(*cmd, [args] { return run_doctor(*args); });
}

}  // namespace fmd::cli
