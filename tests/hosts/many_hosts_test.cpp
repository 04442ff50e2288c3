// Training on three hosts that are network namespaces: their ranks reach each other by their links only, have
// their own host names, and one of them a clock of its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "report/atomic_file.h"
#include "report/launch_record.h"
#include "report/run_record.h"
#include "report/temporary_folder.h"
#include "support/shell_command.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

constexpr const char* kConfig = R"(
model: {name: resnet8, width: 8}
data: {kind: synthetic_images, image: [16, 16, 3], classes: 5, limit: 480, eval_limit: 30}
train: {epochs: 1, micro_batch: 4}
comm: {link: tcp, timeout_s: 5}
device: {kind: cpu}
)";

class ManyHosts : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "network namespaces need root";
    const auto made = run_command(network("up") + " ha hb hc");
    if (made.exit_code != 0) {
      run_command(network("down"));
      GTEST_SKIP() << "no network namespaces here: " << made.output;
    }
    write_file_atomically(folder_.path() / "tiny.yaml", kConfig);
  }
  void TearDown() override { run_command(network("down")); }

  std::string network(const std::string& what) const { return NETWORK " " + what + ' ' + prefix_; }

  // As a user of host ha.
  std::string launch(const std::string& arguments) const {
    return network("in") + " ha timeout 120 " LAUNCHER " run --config " +
           (folder_.path() / "tiny.yaml").string() + " --agent '" + network("agent") + "' --out " +
           out().string() + ' ' + arguments;
  }

  fs::path out() const { return folder_.path() / "out"; }
  std::string log() const { return fs::exists(out() / "log.txt") ? read_file(out() / "log.txt") : ""; }
  // What still runs on the hosts after `seconds`, as the last daemon ends a moment after mpirun.
  std::string left_after(int seconds) const {
    for (int i = 0;; ++i) {
      const auto processes = run_command(network("processes")).output;
      if (processes.empty() || i == seconds) return processes;
      std::this_thread::sleep_for(std::chrono::seconds(1));
    }
  }

  TemporaryFolder folder_;
  const std::string prefix_ = "td" + std::to_string(getpid());
};

TEST_F(ManyHosts, TrainOverTheirLinksAndLeaveOneRecord) {
  const auto ended = run_command(launch("--hosts ha:1,hb:1,hc:1"));
  ASSERT_EQ(ended.exit_code, 0) << ended.output;
  const auto record = read_run_record(out() / "record.json");
  ASSERT_EQ(record.hosts.size(), 3u);
  EXPECT_EQ(record.hosts[1].name, "hb");
  EXPECT_EQ(record.link.transport_found, "tcp");
  // No quantity is a difference of clocks of two hosts: one of them is ten days ahead.
  for (const auto& rank : record.timing)
    for (const auto& step : rank.step_ms) {
      ASSERT_TRUE(step);
      EXPECT_GT(*step, 0.0);
      EXPECT_LT(*step, 60e3);
    }
  EXPECT_EQ(read_launch_record(out() / "launch.json").state, LaunchRecord::kFinished);
  EXPECT_THAT(log(), HasSubstr("step"));
  EXPECT_EQ(left_after(5), "");
}

TEST_F(ManyHosts, RanksOfAHostShareItsCoresAndTheHostfileIsKept) {
  write_file_atomically(folder_.path() / "hosts", "hb slots=2\nhc slots=1\n");
  const auto ended = run_command(launch("--hostfile " + (folder_.path() / "hosts").string()));
  ASSERT_EQ(ended.exit_code, 0) << ended.output;
  const auto record = read_run_record(out() / "record.json");
  ASSERT_EQ(record.hosts.size(), 2u);
  EXPECT_EQ(record.hosts[0].ranks, 2);
  EXPECT_EQ(read_file(out() / "hosts.txt"), "hb slots=2\nhc slots=1\n");
  EXPECT_THAT(ended.output, HasSubstr("hb: rank 1: "));
}

TEST_F(ManyHosts, AHostCutOffInMidRunEndsTheJobOnAllHosts) {
  const auto result = (folder_.path() / "result").string();
  const auto job = launch("--hosts ha:1,hb:1,hc:1 --set data.limit=48000");
  run_command("(" + job + " > " + result + ".txt 2>&1; echo $? > " + result + ") > /dev/null 2>&1 &");
  constexpr int kTries = 600;
  for (int i = 0; i < kTries && log().find("step 1") == std::string::npos; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  ASSERT_THAT(log(), HasSubstr("step 1")) << "the job did not start";
  ASSERT_EQ(run_command(network("cut") + " hb").exit_code, 0);
  for (int i = 0; i < kTries && !(fs::exists(result) && !read_file(result).empty()); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  ASSERT_TRUE(fs::exists(result)) << "the job goes on";
  EXPECT_EQ(read_file(result), "75\n") << read_file(result + ".txt");
  EXPECT_THAT(read_file(result + ".txt"),
              AllOf(HasSubstr("did not finish within 5 s"), HasSubstr("error: The run ")));
  // The daemon of the host that is cut off ends by itself, a few seconds later.
  EXPECT_EQ(left_after(30), "");
  EXPECT_EQ(read_launch_record(out() / "launch.json").exit_status, 75);
}

// The same through a real sshd, with a key of its own and a greeting that every login prints.
TEST_F(ManyHosts, OverSsh) {
  const auto folder = folder_.path().string();
  // One by one: a shell's command -v need not look at more than its first operand.
  for (const std::string program : {"ssh", "ssh-keygen", "/usr/sbin/sshd"})
    if (run_command("command -v " + program).exit_code != 0)
      GTEST_SKIP() << program << " is missing: openssh-client and openssh-server are not both installed";
  ASSERT_EQ(
      run_command("mkdir -p /run/sshd && cd " + folder +
                  " && ssh-keygen -q -t ed25519 -N '' -f host && ssh-keygen -q -t ed25519 -N '' -f user")
          .exit_code,
      0);
  write_file_atomically(folder_.path() / "greeting", "Welcome to hb.\n{ not JSON }\n");
  write_file_atomically(folder_.path() / "sshd_config",
                        "Port 22022\nListenAddress 10.77.0.2\nUsePAM no\nStrictModes no\nHostKey " + folder +
                            "/host\nAuthorizedKeysFile " + folder + "/user.pub\nPidFile " + folder +
                            "/sshd.pid\nBanner " + folder + "/greeting\n");
  write_file_atomically(folder_.path() / "ssh_config",
                        "Host hb\n  HostName 10.77.0.2\n  Port 22022\nHost *\n  IdentityFile " + folder +
                            "/user\n  BatchMode yes\n  ConnectTimeout 5\n  StrictHostKeyChecking no\n"
                            "  UserKnownHostsFile /dev/null\n");
  const auto sshd = run_command(network("in") + " hb /usr/sbin/sshd -f " + folder + "/sshd_config");
  ASSERT_EQ(sshd.exit_code, 0) << sshd.output;
  const auto over_ssh = [&](const std::string& hosts) {
    return run_command(network("in") + " ha timeout 120 " LAUNCHER " run --config " + folder +
                       "/tiny.yaml --agent 'ssh -F " + folder + "/ssh_config' --out " + out().string() +
                       " --hosts " + hosts);
  };
  const auto ended = over_ssh("ha:1,hb:2");
  EXPECT_EQ(ended.exit_code, 0) << ended.output;
  if (ended.exit_code == 0) {
    EXPECT_EQ(read_run_record(out() / "record.json").hosts.at(1).ranks, 2);
  }
  const auto refused = over_ssh("ha:1,hc:1");  // no name that ssh can find
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.output, HasSubstr("Could not resolve hostname hc"));
  run_command("kill $(cat " + folder + "/sshd.pid)");
  const auto gone = over_ssh("ha:1,hb:1");
  EXPECT_EQ(gone.exit_code, 2);
  EXPECT_THAT(gone.output, HasSubstr("Connection refused"));
  EXPECT_EQ(left_after(5), "");
}

TEST_F(ManyHosts, AHostWithoutALinkIsToldBeforeAnythingStarts) {
  const auto ended = run_command(launch("--hosts ha:1,nowhere:1"));
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_THAT(ended.output,
              AllOf(HasSubstr("error: A host of the job cannot be used."), HasSubstr("nowhere")));
  EXPECT_FALSE(fs::exists(out()));
}

}  // namespace
}  // namespace tandem
