#include "page/timeline_picture.h"

#include <gtest/gtest.h>

#include "report/example_record.h"

namespace tandem {
namespace {

// A page is too long to be printed when it lacks something.
bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

std::vector<TimelineSpan> spans_of(int rank, const std::string& lane) {
  const auto run = example_record();
  auto spans = timeline_spans(run.timelines.front(), run);
  std::erase_if(spans, [&](const TimelineSpan& span) { return span.rank != rank || span.lane != lane; });
  return spans;
}

TEST(Timeline, TheComputeLaneIsTheStepWithoutGaps) {
  for (const int rank : {0, 1}) {
    const auto spans = spans_of(rank, "compute");
    ASSERT_FALSE(spans.empty());
    EXPECT_EQ(spans.front().begin_ms, rank * 0.5);  // ranks stand side by side by their clocks
    for (std::size_t i = 1; i < spans.size(); ++i) EXPECT_EQ(spans[i].begin_ms, spans[i - 1].end_ms) << i;
    EXPECT_EQ(spans.back().end_ms, 40.0 + rank * 0.5);
  }
}

TEST(Timeline, WaitsAreMarkedAndBucketsNamedByTheirLayers) {
  bool waited = false;
  for (const auto& span : spans_of(0, "compute"))
    if (span.style == "wait") {
      waited = true;
      EXPECT_EQ(span.what, "wait for bucket 1: stem.weight");
      EXPECT_EQ(span.end_ms - span.begin_ms, 3.0);
    }
  EXPECT_TRUE(waited);
  const auto communication = spans_of(0, "communication");
  ASSERT_EQ(communication.size(), 2u);
  EXPECT_EQ(communication[0].what, "bucket 0: fc.weight … s2.conv.weight");
  EXPECT_EQ(communication[0].end_ms - communication[0].begin_ms, 11.5);
}

TEST(Timeline, BackwardIsCutWhereBlocksRunForwardAgain) {
  std::vector<std::string> backward;
  for (const auto& span : spans_of(0, "compute"))
    if (span.style == "backward" || span.style == "recompute") backward.push_back(span.what);
  EXPECT_EQ(backward, (std::vector<std::string>{"recompute s2", "backward", "recompute stem", "backward"}));
}

TEST(Timeline, ThePictureEscapesNamesAndHasAllInTheTable) {
  auto run = example_record();
  run.buckets[1].first_parameter = run.buckets[1].last_parameter = "</svg><script>";
  const auto picture = timeline_picture(run.timelines.front(), run);
  EXPECT_FALSE(has(picture, "<script>"));
  EXPECT_TRUE(has(picture, "&lt;/svg&gt;"));
  EXPECT_EQ(timeline_table(run.timelines.front(), run).rows(),
            timeline_spans(run.timelines.front(), run).size());
}

}  // namespace
}  // namespace tandem
