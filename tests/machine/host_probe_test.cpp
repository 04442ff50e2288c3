#include "machine/host_probe.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "machine/machine_json.h"

namespace tandem {
namespace {

TEST(HostProbe, DescribesThisHost) {
  const Host host = probe_host();
  EXPECT_FALSE(host.name.empty());
  EXPECT_FALSE(host.system.empty());
  ASSERT_FALSE(host.cores.empty());
  EXPECT_GE(hardware_threads(host), static_cast<int>(host.cores.size()));
  EXPECT_GT(host.memory_bytes, 0);
  EXPECT_GE(host.packages, 1);
}

// Reading checks that every core names a node of the host, and so on.
TEST(HostProbe, WhatItFindsIsAMachine) {
  const Machine machine{.hosts = {probe_host()}};
  EXPECT_EQ(machine_from_json(to_json(machine), "here"), machine);
}

TEST(HostProbe, APciDeviceThatIsNotThereHasNoNode) {
  EXPECT_EQ(numa_node_of_pci("ffff:ff:1f.7"), std::nullopt);
}

// As the kernel has it: a folder of links into the tree of devices.
TEST(HostProbe, ARouteLeadsFromTheHostBridgeToTheDevice) {
  const auto root = std::filesystem::path(testing::TempDir()) / "tandem-pci-route";
  const auto device = root / "devices/pci0000:17/0000:17:01.0/0000:18:00.0/0000:19:00.0";
  std::filesystem::remove_all(root);
  std::filesystem::create_directories(device);
  std::filesystem::create_directories(root / "bus");
  std::filesystem::create_directory_symlink(device, root / "bus/0000:19:00.0");
  EXPECT_EQ(pci_route("0000:19:00.0", root / "bus"),
            (std::vector<std::string>{"pci0000:17", "0000:17:01.0", "0000:18:00.0"}));
  EXPECT_TRUE(pci_route("0000:1a:00.0", root / "bus").empty());
  std::filesystem::remove_all(root);
}

}  // namespace
}  // namespace tandem
