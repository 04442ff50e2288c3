#include "machine/machine_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "report/atomic_file.h"

namespace tandem {
namespace {

using testing::HasSubstr;

std::string fixture(const std::string& name) {
  return std::string(FIXTURES) + "/" + name + ".json";
}

void expect_refused(const Machine& machine, const std::string& part) {
  try {
    machine_from_json(to_json(machine), "m.json");
    FAIL() << "read a machine that contradicts itself";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr(part));
    EXPECT_THAT(error.what(), HasSubstr("m.json"));
  }
}

class MachineFile : public testing::TestWithParam<const char*> {};

TEST_P(MachineFile, ComesBackAsItIs) {
  const auto text = read_file(fixture(GetParam()));
  const Machine machine = machine_from_json(text, GetParam());
  EXPECT_EQ(machine_from_json(to_json(machine), "again"), machine);
  EXPECT_EQ(to_json(machine), text);
}

INSTANTIATE_TEST_SUITE_P(All, MachineFile,
                         testing::Values("h200x2_nv18", "h200x2_dead_link", "a100x8_nvswitch",
                                         "l40s_x8_pcie_two_sockets", "mixed_models", "cpu_only"));

TEST(MachineJson, NamesOfPairs) {
  const Machine machine = read_machine(fixture("a100x8_nvswitch"));
  EXPECT_EQ(name_of(pair_of(machine.hosts[0], 7, 0)), "NV12");
  EXPECT_EQ(pair_of(machine.hosts[0], 0, 1).pcie_path, Path::Pxb);
  const Machine pcie = read_machine(fixture("l40s_x8_pcie_two_sockets"));
  EXPECT_EQ(name_of(pair_of(pcie.hosts[0], 0, 1)), "PIX");
  EXPECT_EQ(name_of(pair_of(pcie.hosts[0], 0, 2)), "NODE");
  EXPECT_EQ(name_of(pair_of(pcie.hosts[0], 0, 4)), "SYS");
  EXPECT_EQ(numa_distance(pcie.hosts[0], 0, 1), 32);
  EXPECT_EQ(numa_distance(pcie.hosts[0], 0, 2), std::nullopt);
}

TEST(MachineJson, RefusesWhatContradictsItself) {
  const Machine good = read_machine(fixture("l40s_x8_pcie_two_sockets"));
  const auto with = [&good](auto change) {
    Machine machine = good;
    change(machine.hosts[0]);
    return machine;
  };
  expect_refused(with([](Host& h) { h.gpu_pairs.pop_back(); }), "the 28 pairs of 8 GPUs");
  expect_refused(with([](Host& h) { h.gpu_pairs.back() = h.gpu_pairs.front(); }), "twice");
  expect_refused(with([](Host& h) { h.gpu_pairs[0].to = 8; }), "two GPUs of the host");
  expect_refused(with([](Host& h) { std::swap(h.gpu_pairs[0].from, h.gpu_pairs[0].to); }),
                 "the lower index first");
  expect_refused(with([](Host& h) { h.gpus[1].numa = 2; }), "a NUMA node of the host");
  expect_refused(with([](Host& h) { h.cores[0].numa = 7; }), "a NUMA node of the host");
  expect_refused(with([](Host& h) { h.gpus[1].index = 0; }), "index 0 twice");
  expect_refused(Machine{}, "at least one host");
}

TEST(MachineJson, RefusesAnotherSchemaAndAnUnknownPath) {
  EXPECT_THROW(machine_from_json(R"({"schema": "tandem.run/1"})", "m.json"), InputError);
  auto text = read_file(fixture("h200x2_nv18"));
  text.replace(text.find("\"PHB\""), 5, "\"XYZ\"");
  EXPECT_THROW(machine_from_json(text, "m.json"), InputError);
}

}  // namespace
}  // namespace tandem
