#include "machine/machine_json.h"

#include <algorithm>
#include <set>

#include "core/error.h"
#include "machine/machine_fields.h"
#include "report/atomic_file.h"

namespace tandem {
namespace {

[[noreturn]] void fail(const std::string& file, const std::string& where, const std::string& expected,
                       const std::string& found) {
  throw InputError({.what = "A machine names what it has not.",
                    .where = file + ": " + where,
                    .expected = expected,
                    .found = found,
                    .advice = "Make the file again: launcher doctor --json"});
}

template <class T>
std::set<int> indices_of(const std::vector<T>& things, const std::string& file, const std::string& where) {
  std::set<int> indices;
  for (const T& thing : things)
    if (!indices.insert(thing.index).second)
      fail(file, where, "every index once", fmt::format("index {} twice", thing.index));
  return indices;
}

// Every field has its type; now they must agree with each other.
void check_host(const Host& host, const std::string& file, const std::string& where) {
  const auto nodes = indices_of(host.numa_nodes, file, where + ".numa_nodes");
  indices_of(host.cores, file, where + ".cores");
  const auto gpus = indices_of(host.gpus, file, where + ".gpus");
  for (const auto& core : host.cores)
    if (!nodes.contains(core.numa))
      fail(file, where + ".cores", "a NUMA node of the host", fmt::format("node {}", core.numa));
  for (const auto& gpu : host.gpus)
    if (gpu.numa && !nodes.contains(*gpu.numa))
      fail(file, where + ".gpus", "a NUMA node of the host", fmt::format("node {}", *gpu.numa));
  std::set<std::pair<int, int>> pairs;
  for (const auto& pair : host.gpu_pairs) {
    const auto name = fmt::format("{} and {}", pair.from, pair.to);
    if (!gpus.contains(pair.from) || !gpus.contains(pair.to) || pair.from >= pair.to)
      fail(file, where + ".gpu_pairs", "two GPUs of the host, the lower index first", name);
    if (!pairs.insert({pair.from, pair.to}).second)
      fail(file, where + ".gpu_pairs", "every pair once", name + " twice");
  }
  const auto expected = gpus.size() * (gpus.size() - (gpus.empty() ? 0 : 1)) / 2;
  if (pairs.size() != expected)
    fail(file, where + ".gpu_pairs", fmt::format("the {} pairs of {} GPUs", expected, gpus.size()),
         fmt::format("{}", pairs.size()));
}

}  // namespace

std::string to_json(const Machine& machine) {
  Json file = {{"schema", Machine::kSchema}};
  file.update(JsonForm<Machine>::write(machine));
  return render_json(file);
}

Machine machine_from_json(std::string_view text, const std::string& file) {
  Json json = parse_json(text, file);
  const JsonPlace top{&json, &file};
  require_schema(top, Machine::kSchema);
  json.erase("schema");
  Machine machine;
  JsonForm<Machine>::read(top, machine);
  if (machine.hosts.empty()) fail(file, "hosts", "at least one host", "none");
  for (std::size_t i = 0; i < machine.hosts.size(); ++i)
    check_host(machine.hosts[i], file, fmt::format("hosts[{}]", i));
  return machine;
}

Machine read_machine(const std::filesystem::path& path) {
  return machine_from_json(read_file(path), path.string());
}

}  // namespace tandem
