#include "launcher/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "core/error.h"
#include "report/atomic_file.h"
#include "report/comparison.h"
#include "report/example_comparison.h"
#include "report/example_record.h"
#include "report/tables.h"
#include "report/temporary_folder.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

class Report : public testing::Test {
 protected:
  fs::path write(const std::string& name, const RunRecord& record) const {
    fs::create_directories((folder_.path() / name).parent_path());
    write_run_record(record, folder_.path() / name);
    return folder_.path() / name;
  }

  static RunRecord record_on(const std::string& link, const std::string& schedule, double epoch_s) {
    auto record = example_record();
    record.link.asked = link;
    record.link.paced.reset();
    record.reduction.schedule = schedule;
    for (auto& epoch : record.epochs) epoch.wall_s = epoch_s;
    return record;
  }

  static void expect_error(const std::vector<fs::path>& inputs, const std::string& words) {
    try {
      render_report(inputs, ReportFormat::Markdown);
      ADD_FAILURE() << "no error with " << words;
    } catch (const InputError& error) {
      EXPECT_THAT(error.what(), HasSubstr(words));
    }
  }

  TemporaryFolder folder_;
};

TEST_F(Report, ARunIsItsPageByFileAndByFolder) {
  const auto file = write("a/record.json", example_record());
  EXPECT_EQ(render_report({file}, ReportFormat::Markdown), run_markdown(example_record()));
  EXPECT_EQ(render_report({file.parent_path()}, ReportFormat::Markdown), run_markdown(example_record()));
  EXPECT_EQ(render_report({file}, ReportFormat::Csv), step_table(example_record()).csv());
}

TEST_F(Report, AComparisonIsItsTableAndAFolderMeansItFirst) {
  write("record.json", example_record());
  write_comparison(example_comparison(), folder_.path() / "compare.json");
  EXPECT_EQ(render_report({folder_.path()}, ReportFormat::Markdown), compare_markdown(example_comparison()));
  EXPECT_EQ(render_report({folder_.path() / "compare.json"}, ReportFormat::Csv),
            compare_csv_table(example_comparison()).csv());
}

TEST_F(Report, SeveralRunsAreComparedWithRepeatsOfALinkInOneRow) {
  auto paced = record_on("tcp", "overlapped", 4.0);
  paced.link.paced = LinkModelRecord{.latency_us = 50.0, .gbit_per_s = 0.5};
  const std::vector<fs::path> inputs = {write("1/record.json", record_on("tcp", "overlapped", 2.0)),
                                        write("2.json", record_on("shm", "overlapped", 1.0)),
                                        write("3.json", record_on("tcp", "overlapped", 2.5)),
                                        write("4.json", record_on("tcp", "after", 3.0)),
                                        write("5.json", paced)};
  const auto csv = render_report(inputs, ReportFormat::Csv);
  std::vector<std::string> labels;
  std::vector<std::string> repeats;
  std::istringstream lines(csv);
  for (std::string line; std::getline(lines, line);) {
    labels.push_back(line.substr(0, line.find(',')));
    if (line.starts_with("tcp,")) {
      EXPECT_THAT(line, HasSubstr(",2,2.25,2,2.5,"));  // repeats, epoch time
    }
  }
  EXPECT_THAT(labels, ElementsAre("link", "tcp", "shm", "tcp-no-overlap", "tcp@0.5gbit+50us"));
}

TEST_F(Report, WrongInputsAreNamed) {
  expect_error({folder_.path() / "nope.json"}, "nope.json");
  expect_error({folder_.path()}, "compare.json, record.json");
  write_file_atomically(folder_.path() / "x.json", "{}");
  expect_error({folder_.path() / "x.json"}, "x.json");
  write_file_atomically(folder_.path() / "y.json", "[1, 2");
  expect_error({folder_.path() / "y.json"}, "y.json");
  write_file_atomically(folder_.path() / "z.json", "{\"schema\": \"other/1\"}");
  expect_error({folder_.path() / "z.json"}, "other/1");
  write_file_atomically(folder_.path() / "w.json", "{\"schema\": 3}");
  expect_error({folder_.path() / "w.json"}, "schema");
}

TEST_F(Report, RunsOfOtherConfigsAreRowsOfTheirOwn) {
  auto ring = example_record();
  ring.config = "comm:\n  backend: ring\n";
  auto mpi = example_record();
  mpi.config = "comm:\n  backend: mpi\nreport:\n  name: other\n";
  auto again = mpi;
  again.config = "comm:\n  backend: mpi\n";
  const auto csv =
      render_report({write("1.json", ring), write("2.json", mpi), write("3.json", again)}, ReportFormat::Csv);
  EXPECT_THAT(csv, HasSubstr("\ntcp@1gbit+50us comm.backend=ring,"));
  EXPECT_THAT(csv, HasSubstr("\ntcp@1gbit+50us comm.backend=mpi,tcp,tcp,paced to 1 Gbit/s + 50 us,2,"));
}

TEST_F(Report, RecordsOfSeveralMachinesBecomeOneTable) {
  write("a/shm/repeat-1/record.json", record_on("shm", "overlapped", 1.0));
  auto other = record_on("shm", "overlapped", 2.0);
  other.hosts.front() = {.name = "tower", .processor = "B CPU", .cores = 8, .ranks = 2};
  write("b/shm/repeat-1/record.json", other);
  for (const auto* name : {"a/compare.json", "b/compare.json"})
    write_comparison(example_comparison(), folder_.path() / name);
  const auto page = render_report({folder_.path() / "a", folder_.path() / "b"}, ReportFormat::Markdown);
  EXPECT_THAT(page, HasSubstr("| machine "));
  EXPECT_THAT(page, HasSubstr("| box (A CPU) "));
  EXPECT_THAT(page, HasSubstr("| tower (B CPU) "));
}

TEST_F(Report, AComparisonWithoutItsRecordsCannotBeComparedFurther) {
  const auto run = write("record.json", example_record());
  fs::create_directories(folder_.path() / "alone");
  write_comparison(example_comparison(), folder_.path() / "alone" / "compare.json");
  expect_error({run, folder_.path() / "alone" / "compare.json"}, "compare.json");
}

TEST_F(Report, TwoRunsAreTheirTableAndTheirDifference) {
  const auto text = render_report({write("1.json", record_on("shm", "overlapped", 1.0)),
                                   write("2.json", record_on("tcp", "overlapped", 2.0))},
                                  ReportFormat::Markdown);
  EXPECT_THAT(text, HasSubstr("speedup over tcp"));
  EXPECT_THAT(text, HasSubstr("# Difference"));
  auto other = example_record();
  other.model.name = "resnet20";
  const auto difference =
      render_report({write("1.json", example_record()), write("2.json", other)}, ReportFormat::Markdown);
  EXPECT_TRUE(difference.starts_with("# Difference"));
  EXPECT_THAT(difference, HasSubstr("resnet20"));
}

TEST_F(Report, EverythingHasAPage) {
  const auto run = write("record.json", example_record());
  write_comparison(example_comparison(), folder_.path() / "compare.json");
  for (const auto& inputs :
       {std::vector{run}, std::vector{folder_.path() / "compare.json"}, std::vector{run, run}})
    EXPECT_TRUE(render_report(inputs, ReportFormat::Html).starts_with("<!DOCTYPE html>"));
}

TEST_F(Report, RunsOfDifferentModelsAreNotCompared) {
  auto other = example_record();
  other.model.name = "resnet20";
  expect_error({write("1.json", example_record()), write("2.json", other), write("3.json", example_record())},
               "model.name");
}

TEST_F(Report, RunsOnDifferentNumbersOfRanksAreHowTheyScale) {
  auto one = record_on("shm", "overlapped", 1.0);
  one.world_size = 1;
  one.hosts[0].ranks = 1;
  one.batch.global = 8;
  one.timing.pop_back();
  one.timelines.clear();
  one.bucket_times.reset();
  one.control.reset();
  one.energy->rank_j.pop_back();
  const std::vector<fs::path> inputs{write("two.json", record_on("shm", "overlapped", 1.0)),
                                     write("one.json", one)};
  EXPECT_THAT(render_report(inputs, ReportFormat::Markdown), HasSubstr("weak efficiency over 1 rank"));
  EXPECT_THAT(render_report(inputs, ReportFormat::Csv), HasSubstr("weak_efficiency_median"));
}

}  // namespace
}  // namespace tandem
