#include "doctor/doctor_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "doctor/fact_fields.h"
#include "machine/machine_fields.h"
#include "report/text_table.h"

namespace tandem {

namespace {

using Column = TextTable::Column;

constexpr std::string_view kNotTold = "?";

std::string gigabytes(std::int64_t bytes) {
  return fmt::format("{:.1f} GB", static_cast<double>(bytes) / 1e9);
}

std::string count(std::size_t number, std::string_view thing) {
  return fmt::format("{} {}{}", number, thing, number == 1 ? "" : "s");
}

template <class T>
std::string told(const std::optional<T>& value) {
  return value ? fmt::format("{}", *value) : std::string(kNotTold);
}

std::string place_of(const Host& host) {
  if (host.container.empty() && host.hypervisor.empty()) return "";
  std::string text = host.container.empty() ? ", " : fmt::format(", in a container ({})", host.container);
  if (!host.hypervisor.empty())
    text += host.container.empty() ? fmt::format("a virtual machine ({})", host.hypervisor)
                                   : fmt::format(" of a virtual machine ({})", host.hypervisor);
  return text;
}

std::string host_lines(const Patient& patient) {
  const auto& host = patient.host;
  std::string text = fmt::format("host       {}: {}{}\n", host.name, host.system, place_of(host));
  text +=
      fmt::format("processor  {}: {}, {}, {}, {}, {}\n", host.processor,
                  count(static_cast<std::size_t>(host.packages), "socket"), count(host.cores.size(), "core"),
                  count(static_cast<std::size_t>(hardware_threads(host)), "hardware thread"),
                  count(host.numa_nodes.size(), "NUMA node"), gigabytes(host.memory_bytes));
  if (host.gpus.empty()) return text + fmt::format("GPUs       none: {}\n", host.no_gpu_reason);
  std::map<std::string, int> models;
  for (const auto& gpu : host.gpus) ++models[fmt::format("{} {}", gpu.name, gigabytes(gpu.memory_bytes))];
  std::vector<std::string> parts;
  for (const auto& [model, number] : models) parts.push_back(fmt::format("{} x {}", number, model));
  return text + fmt::format("GPUs       {}; driver {}, CUDA up to {}\n", fmt::join(parts, ", "), host.driver,
                            host.driver_cuda);
}

std::string job_lines(const Patient& patient) {
  const auto& host = patient.host;
  const auto& around = patient.around;
  auto text = fmt::format("ranks      {}, {:.3g} cores each; /dev/shm {} free\n", around.ranks,
                          static_cast<double>(host.cores.size()) / around.ranks,
                          around.shm_free_bytes ? gigabytes(*around.shm_free_bytes) : "not there");
  text += fmt::format(
      "limits     locked memory {}, open files {}\n",
      around.locked_memory_bytes ? fmt::format("{} MiB", *around.locked_memory_bytes >> 20) : "unlimited",
      around.open_files ? fmt::format("{}", *around.open_files) : "unlimited");
  return text;
}

std::string libraries_text(const Surroundings& around) {
  if (around.libraries.empty() && around.mpirun.empty()) return "";
  TextTable table({Column{"library", Align::Left}, Column{"built for", Align::Left},
                   Column{"loaded", Align::Left}, Column{"from", Align::Left}});
  for (const auto& library : around.libraries)
    table.add_row({library.name, library.header.empty() ? "-" : library.header, library.loaded,
                   library.path.empty() ? "linked in" : library.path});
  if (!around.mpirun.empty()) table.add_row({"mpirun", "-", around.mpirun, around.mpirun_path});
  return '\n' + table.markdown();
}

std::string slash(const std::optional<int>& now, const std::optional<int>& most) {
  return fmt::format("{}/{}", told(now), told(most));
}

std::string state_text(const Host& host) {
  if (host.gpus.empty()) return "";
  TextTable table({Column{"GPU", Align::Left}, Column{"PCI", Align::Left}, Column{"PCIe gen"},
                   Column{"lanes"}, Column{"NVLinks up"}, Column{"SM MHz"}, Column{"°C"}, Column{"W"},
                   Column{"ECC"}, Column{"memory used"}, Column{"processes"}});
  for (const auto& gpu : host.gpus) {
    const auto& state = gpu.state;
    const auto up = std::ranges::count(gpu.nvlinks, true, &NvLink::active);
    table.add_row({fmt::format("{}", gpu.index), gpu.pci, slash(gpu.pcie.generation, gpu.pcie.max_generation),
                   slash(gpu.pcie.width, gpu.pcie.max_width), fmt::format("{}/{}", up, gpu.nvlinks.size()),
                   slash(state.sm_clock_mhz, state.max_sm_clock_mhz), told(state.temperature_c),
                   state.power_w && state.power_limit_w
                       ? fmt::format("{:.0f}/{:.0f}", *state.power_w, *state.power_limit_w)
                       : std::string(kNotTold),
                   gpu.ecc ? (*gpu.ecc ? "on" : "off") : std::string(kNotTold),
                   state.memory_used_bytes ? gigabytes(*state.memory_used_bytes) : std::string(kNotTold),
                   fmt::format("{}", gpu.processes.size())});
  }
  return '\n' + table.markdown();
}

std::string rate(const std::optional<double>& value) {
  return value ? fmt::format("{:.1f}", *value) : "-";
}

std::string peers_text(const Patient& patient) {
  const auto& measured = patient.measured;
  std::string text;
  if (!measured.pcie.empty()) {
    TextTable table({Column{"GPU", Align::Left}, Column{"PCIe under load"}, Column{"lanes"},
                     Column{"to GPU GB/s"}, Column{"to host GB/s"}});
    for (const auto& link : measured.pcie)
      table.add_row({fmt::format("{}", link.gpu), told(link.generation), told(link.width),
                     fmt::format("{:.1f}", link.to_device_gb_per_s),
                     fmt::format("{:.1f}", link.to_host_gb_per_s)});
    text += '\n' + table.markdown();
  }
  if (measured.peers.empty()) return text;
  TextTable table({Column{"from", Align::Left}, Column{"to", Align::Left}, Column{"link", Align::Left},
                   Column{"access", Align::Left}, Column{"data", Align::Left}, Column{"GB/s"},
                   Column{"should give"}, Column{"both ways GB/s"}, Column{"by kernel GB/s"}});
  for (const auto& test : measured.peers) {
    const auto& pair = pair_of(patient.host, test.from, test.to);
    table.add_row({fmt::format("{}", test.from), fmt::format("{}", test.to), name_of(pair),
                   test.access ? "yes" : "no", test.wrong.empty() ? "right" : "WRONG", rate(test.gb_per_s),
                   rate(nominal_gb_per_s(patient.host, pair)), rate(test.both_gb_per_s),
                   rate(test.sm_gb_per_s)});
  }
  return text + '\n' + table.markdown();
}

std::string finding_text(const Finding& finding) {
  std::string text =
      fmt::format("{:<8} {}\n           {}\n", name_of(finding.severity), finding.id.text(), finding.what);
  text += fmt::format("           why:   {}\n", finding.why);
  if (!finding.advice.empty()) text += fmt::format("           to do: {}\n", finding.advice);
  return text;
}

std::string verdict_of(const Findings& findings) {
  const auto number = [&findings](Severity severity) {
    return static_cast<std::size_t>(std::ranges::count(findings, severity, &Finding::severity));
  };
  const auto status = exit_status_of(findings);
  const auto* word = status == kHealthyStatus ? "healthy" : status == kWarningStatus ? "warnings" : "FAIL";
  return fmt::format("{}: {}, {}, {}", word, count(number(Severity::Failure), "failure"),
                     count(number(Severity::Warning), "warning"), count(number(Severity::Note), "note"));
}

std::string endings(const Findings& findings) {
  std::string text;
  if (!findings.empty()) text += '\n' + findings_text(findings, Severity::Note);
  return text + '\n' + verdict_of(findings) + '\n';
}

}  // namespace

std::string link_matrix_text(const Host& host) {
  if (host.gpus.empty()) return "";
  std::vector<Column> columns = {Column{"", Align::Left}};
  for (const auto& gpu : host.gpus) columns.push_back({fmt::format("GPU{}", gpu.index), Align::Left});
  columns.push_back({"NUMA", Align::Left});
  TextTable table(columns);
  for (const auto& row : host.gpus) {
    std::vector<std::string> cells = {fmt::format("GPU{}", row.index)};
    for (const auto& column : host.gpus)
      cells.push_back(row.index == column.index ? "X" : name_of(pair_of(host, row.index, column.index)));
    cells.push_back(told(row.numa));
    table.add_row(cells);
  }
  return '\n' + table.markdown();
}

std::string findings_text(const Findings& findings, Severity least) {
  std::string text;
  for (const auto& finding : findings)
    if (finding.severity >= least) text += finding_text(finding);
  return text;
}

std::string machine_text(const Patient& patient, const Findings& findings) {
  return host_lines(patient) + state_text(patient.host) + link_matrix_text(patient.host) + endings(findings);
}

std::string doctor_text(const Patient& patient, const Findings& findings) {
  return host_lines(patient) + job_lines(patient) + state_text(patient.host) +
         link_matrix_text(patient.host) + peers_text(patient) + libraries_text(patient.around) +
         endings(findings);
}

std::string doctor_json(const Patient& patient, const Findings& findings) {
  Json json = {{"schema", "tandem.doctor/1"}, {"verdict", verdict_of(findings)}};
  json["exit_status"] = exit_status_of(findings);
  json["findings"] = Json::array();
  for (const auto& finding : findings)
    json["findings"].push_back({{"severity", name_of(finding.severity)},
                                {"id", finding.id.text()},
                                {"what", finding.what},
                                {"why", finding.why},
                                {"advice", finding.advice}});
  json["machine"] = Json{{"schema", Machine::kSchema}};
  json["machine"].update(JsonForm<Machine>::write(Machine{.hosts = {patient.host}}));
  json["surroundings"] = JsonForm<Surroundings>::write(patient.around);
  json["measurements"] = JsonForm<Measurements>::write(patient.measured);
  return render_json(json);
}

}  // namespace tandem
