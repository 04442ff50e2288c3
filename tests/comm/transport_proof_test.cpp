#include "comm/transport_proof.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <string>

namespace tandem {
namespace {

TEST(JudgeTransport, FollowsTheShareOfAcknowledgedBytes) {
  EXPECT_EQ(judge_transport(1.3e8, 1e8, false), "tcp");
  EXPECT_EQ(judge_transport(0.5e8, 1e8, true), "tcp");
  EXPECT_EQ(judge_transport(0.49e8, 1e8, true), "mixed");
  EXPECT_EQ(judge_transport(0.05e8, 1e8, true), "mixed");
  EXPECT_EQ(judge_transport(0.04e8, 1e8, true), "shm");
}

TEST(JudgeTransport, DoesNotGuess) {
  EXPECT_EQ(judge_transport(0.0, 1e8, false), "unknown");
  EXPECT_EQ(judge_transport(0.0, 9e5, true), "unknown");
  EXPECT_EQ(judge_transport(9e5, 9e5, false), "unknown");
}

TEST(AckedBetween, CountsGrowthNewSocketsAndReusedInodes) {
  const TransportSnapshot before{.acked_bytes = {{1, 100}, {2, 50}, {3, 500}}};
  const TransportSnapshot after{.acked_bytes = {{1, 150}, {3, 20}, {4, 7}}};
  EXPECT_EQ(acked_between(before, after), 50.0 + 20.0 + 7.0);
}

// A connection of this process to itself over the loopback interface.
class Connection {
 public:
  Connection() : listener_(socket(AF_INET, SOCK_STREAM, 0)), sender_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* any = reinterpret_cast<sockaddr*>(&address);
    socklen_t bytes = sizeof(address);
    EXPECT_EQ(bind(listener_, any, bytes), 0);
    EXPECT_EQ(listen(listener_, 1), 0);
    EXPECT_EQ(getsockname(listener_, any, &bytes), 0);
    EXPECT_EQ(connect(sender_, any, bytes), 0);
    receiver_ = accept(listener_, nullptr, nullptr);
  }
  ~Connection() {
    for (const int descriptor : {listener_, sender_, receiver_}) close(descriptor);
  }

  void carry(std::size_t bytes) const {
    const std::string out(bytes, 'x');
    std::string in(bytes, ' ');
    EXPECT_EQ(send(sender_, out.data(), bytes, 0), static_cast<ssize_t>(bytes));
    EXPECT_EQ(recv(receiver_, in.data(), bytes, MSG_WAITALL), static_cast<ssize_t>(bytes));
    // The answer carries the acknowledgement if none has gone out yet.
    EXPECT_EQ(send(receiver_, "y", 1, 0), 1);
    EXPECT_EQ(recv(sender_, in.data(), 1, 0), 1);
  }

 private:
  int listener_;
  int sender_;
  int receiver_ = -1;
};

TEST(SnapshotTransport, SeesWhatThisProcessSends) {
  const Connection connection;
  const auto before = snapshot_transport();
  constexpr std::size_t kBytes = 30000;
  connection.carry(kBytes);
  const auto acked = acked_between(before, snapshot_transport());
  EXPECT_GE(acked, static_cast<double>(kBytes));
  EXPECT_LE(acked, static_cast<double>(kBytes) + 2.0);  // a SYN counts as a byte, and the answer is one
}

TEST(SnapshotTransport, IgnoresListeningSocketsAndOtherDescriptors) {
  const auto without = snapshot_transport().acked_bytes.size();
  const Connection connection;
  EXPECT_EQ(snapshot_transport().acked_bytes.size(), without + 2);  // both ends
}

}  // namespace
}  // namespace tandem
