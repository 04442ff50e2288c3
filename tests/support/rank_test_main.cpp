// main of every rank test: starts MPI over the link asked for, and lets rank 0 alone report unless another
// rank fails.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/error.h"
#include "support/rank_test.h"

extern char** environ;

namespace tandem {
namespace {

struct RankTestJob {
  const MpiSession* session = nullptr;
  LinkWish link = LinkWish::Auto;
};

RankTestJob& job() {
  static RankTestJob instance;
  return instance;
}

class FailuresOnly final : public ::testing::EmptyTestEventListener {
 public:
  explicit FailuresOnly(int rank) : rank_(rank) {}

 private:
  // Kept here because GoogleTest reports a failure under the lock that asking for the current test would
  // take.
  void OnTestStart(const ::testing::TestInfo& test) override {
    test_ = std::string(test.test_suite_name()) + "." + test.name();
  }
  void OnTestEnd(const ::testing::TestInfo&) override { test_ = "outside a test"; }

  void OnTestPartResult(const ::testing::TestPartResult& result) override {
    if (!result.failed()) return;
    std::fprintf(stderr, "[rank %d] %s failed at %s:%d\n%s\n", rank_, test_.c_str(),
                 result.file_name() ? result.file_name() : "?", result.line_number(), result.summary());
  }

  const int rank_;
  std::string test_ = "outside a test";
};

LinkWish parse_link(std::string_view text) {
  if (text == "shm") return LinkWish::Shm;
  if (text == "tcp") return LinkWish::Tcp;
  TANDEM_EXPECT(text == "auto", "unknown link \"{}\"", text);
  return LinkWish::Auto;
}

void take_link(LinkWish wish) {
  Environment users;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const auto equals = text.find('=');
    users.emplace(text.substr(0, equals), equals == text.npos ? "" : text.substr(equals + 1));
  }
  const LinkSite site{.open_mpi_major = open_mpi_major(mpi_library_version()),
                      .one_host = true,
                      .cross_memory_attach = cross_memory_attach_works()};
  for (const auto& [name, value] : choose_link(wish, site, users)) setenv(name.c_str(), value.c_str(), 1);
}

int run(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    constexpr std::string_view kLink = "--link=";
    if (const std::string_view argument = argv[i]; argument.starts_with(kLink)) {
      job().link = parse_link(argument.substr(kLink.size()));
    }
  }
  take_link(job().link);
  const MpiSession session;
  job().session = &session;
  if (session.identity().rank.value != 0) {
    auto& listeners = ::testing::UnitTest::GetInstance()->listeners();
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new FailuresOnly(session.identity().rank.value));  // owned by GoogleTest
  }
  return RUN_ALL_TESTS();
}

}  // namespace

const MpiSession& rank_test_session() {
  return *job().session;
}
LinkWish rank_test_link() {
  return job().link;
}

}  // namespace tandem

int main(int argc, char** argv) {
  return tandem::run(argc, argv);
}
