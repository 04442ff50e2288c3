// The pages in a headless browser: they draw all charts, log nothing to the console and ask the network for
// nothing.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "page/example_pages.h"
#include "page/run_page.h"
#include "report/atomic_file.h"
#include "report/example_record.h"
#include "report/temporary_folder.h"

namespace tandem {
namespace {

// A page is too long to be printed when it lacks something.
bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

namespace fs = std::filesystem;

class Browser : public testing::Test {
 protected:
  void SetUp() override {
    if (std::string(TANDEM_CHROMIUM).empty()) GTEST_SKIP() << "no chromium on this machine";
  }

  // The document after its scripts have run; what the browser logged goes to log().
  std::string open(const std::string& page, const std::string& more = {}) {
    write_file_atomically(folder_.path() / "page.html", page);
    const std::string command = "HOME='" + folder_.path().string() +
                                "' timeout 60 " TANDEM_CHROMIUM
                                " --headless --no-sandbox --disable-gpu --disable-dev-shm-usage "
                                "--hide-scrollbars --enable-logging=stderr --log-level=0"
                                " --virtual-time-budget=3000 --user-data-dir='" +
                                (folder_.path() / "profile").string() + "' " + more + " 'file://" +
                                (folder_.path() / "page.html").string() + "' 2>'" + log_file().string() + "'";
    std::string output;
    FILE* pipe = popen(command.c_str(), "r");
    if (pipe == nullptr) return output;
    char part[4096];
    for (std::size_t got = fread(part, 1, sizeof part, pipe); got > 0;
         got = fread(part, 1, sizeof part, pipe))
      output.append(part, got);
    EXPECT_EQ(pclose(pipe), 0) << log();
    return output;
  }

  fs::path log_file() const { return folder_.path() / "log.txt"; }
  std::string log() const { return read_file(log_file()); }

  TemporaryFolder folder_;
};

// With a script of the test's own at its end, which the page itself would not allow.
std::string with_script(std::string page, const std::string& script) {
  const std::string policy = "http-equiv=\"Content-Security-Policy\"";
  page.replace(page.find(policy), policy.size(), "name=\"no-policy\"");
  const auto end = page.rfind("</body>");
  page.insert(end, "<script>" + script + "</script>");
  return page;
}

std::string attribute(const std::string& document, const std::string& name) {
  const auto begin = document.find("data-" + name + "=\"");
  if (begin == std::string::npos) return "missing";
  const auto value = begin + name.size() + 7;
  return document.substr(value, document.find('"', value) - value);
}

TEST_F(Browser, EveryPageDrawsItsChartsWithoutAWordOnTheConsole) {
  for (const auto& page : example_pages()) {
    EXPECT_EQ(attribute(open(page.html, "--dump-dom"), "charts"), std::to_string(page.charts)) << page.name;
    EXPECT_FALSE(has(log(), "CONSOLE")) << page.name;
  }
}

// Two proofs. What the browser logs of requests, apart from its own, which have no origin; and, since a page
// that asks for nothing might be one that could: even an image put into it is not asked for.
TEST_F(Browser, TheNetworkIsAskedForNothing) {
  const auto net = folder_.path() / "net.json";
  const auto requests_of = [&](const std::string& page) {
    open(page, "--dump-dom --log-net-log='" + net.string() + "'");
    return read_file(net);
  };
  constexpr const char* kByAPage = "\"initiator\":\"null\"";  // of a file
  for (const auto& page : example_pages()) {
    EXPECT_FALSE(has(requests_of(page.html), kByAPage)) << page.name;
    auto changed = page.html;
    changed.insert(changed.find("</h1>"), "<img src=\"http://tandem.invalid/a.png\">");
    EXPECT_FALSE(has(requests_of(changed), "tandem.invalid")) << page.name;
    EXPECT_TRUE(has(log(), "Content Security Policy")) << page.name;
  }
  auto free = with_script(example_pages().front().html, "");
  free.insert(free.find("</h1>"), "<img src=\"http://tandem.invalid/a.png\">");
  const auto requests = requests_of(free);  // the log would tell
  EXPECT_TRUE(has(requests, "tandem.invalid"));
  EXPECT_TRUE(has(requests, kByAPage));
}

TEST_F(Browser, NoScriptButThePagesOwnRuns) {
  auto page = run_page(example_record());
  page.insert(page.find("</h1>"), "<script>document.documentElement.dataset.alien = 1</script>");
  const auto document = open(page, "--dump-dom");
  EXPECT_EQ(attribute(document, "alien"), "missing");
  EXPECT_EQ(attribute(document, "charts"), "4");
}

TEST_F(Browser, TheNewPagesShowTheRightNumbers) {
  const auto pages = example_pages();
  const auto compared = open(pages[1].html, "--dump-dom");
  for (const char* part : {"2.50 (1.60–3.75)", "rank 0 waits 3.000 of 40.000 ms",
                           "rank 1 waits 2.000 of 40.000 ms", "1.500 (1.000–2.000)", "1.2500"})
    EXPECT_TRUE(has(compared, part)) << part;
  EXPECT_TRUE(
      has(open(pages[2].html, "--dump-dom"), "the timeline and the losses of shm, tcp, paced, accuracy run"));
  const auto swept = open(pages[3].html, "--dump-dom");
  for (const char* part : {"comm.a=2 train.b=y", "1234 images/s", "1224–1244 over 2 repeats", "3 of 4",
                           "failed: exit status 2", "0.810 (0.750–0.875)"})
    EXPECT_TRUE(has(swept, part)) << part;
  const auto scaled = open(pages[4].html, "--dump-dom");
  for (const char* part : {"weak efficiency on 4 ranks", "0.75", "300 images/s", "0.90"})
    EXPECT_TRUE(has(scaled, part)) << part;
}

TEST_F(Browser, APhoneNeedsNoScrollingSideways) {
  for (const auto& page : example_pages())
    EXPECT_EQ(attribute(open(with_script(page.html,
                                         "document.documentElement.dataset.wide = String(Math.max(0, "
                                         "document.documentElement.scrollWidth - "
                                         "document.documentElement.clientWidth))"),
                             "--window-size=380,900 --dump-dom"),
                        "wide"),
              "0")
        << page.name;
}

// All that scrolls, opens or leads somewhere: the keyboard reaches it, in the order of the page, and one sees
// where it is. What is in a closed <details> comes when it is opened.
TEST_F(Browser, TheKeyboardReachesEverything) {
  const std::string script = R"(
    document.querySelectorAll("details").forEach((d) => d.open = true);
    const faults = [];
    let reached = 0;
    for (const e of document.querySelectorAll("body *")) {
      const style = getComputedStyle(e);
      const scrolls = e.scrollWidth > e.clientWidth + 1 && ["auto", "scroll"].includes(style.overflowX);
      if (!scrolls && !e.matches("a[href], summary, button, input, [tabindex]")) continue;
      if (e.tabIndex !== 0) { faults.push("out of order: " + e.tagName + "." + e.className); continue; }
      e.focus();
      if (document.activeElement !== e) faults.push("not reached: " + e.tagName + "." + e.className);
      else if (getComputedStyle(e).outlineStyle === "none") faults.push("not seen: " + e.tagName + "." + e.className);
      else ++reached;
    }
    document.documentElement.dataset.faults = faults.join("; ") || "none";
    document.documentElement.dataset.reached = String(reached);)";
  for (const auto& page : example_pages()) {
    const auto document = open(with_script(page.html, script), "--window-size=380,900 --dump-dom");
    EXPECT_EQ(attribute(document, "faults"), "none") << page.name;
    EXPECT_GE(std::atoi(attribute(document, "reached").c_str()), 3)
        << page.name;  // skip link, a table, Chart.js
  }
}

TEST_F(Browser, BothColourSchemesGiveAPicture) {
  for (const std::string scheme : {"0", "1"}) {  // dark, light
    const auto picture = folder_.path() / ("picture-" + scheme + ".png");
    open(run_page(example_record()), "--window-size=380,900 --blink-settings=preferredColorScheme=" + scheme +
                                         " --screenshot='" + picture.string() + "'");
    EXPECT_GT(fs::file_size(picture), 10'000u);
  }
  EXPECT_NE(read_file(folder_.path() / "picture-0.png"), read_file(folder_.path() / "picture-1.png"));
}

}  // namespace
}  // namespace tandem
