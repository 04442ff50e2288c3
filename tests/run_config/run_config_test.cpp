#include "run_config/run_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <limits>
#include <stdexcept>

#include "parse_error.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

RunConfig parse(std::string_view text, const Overrides& overrides = {}) {
  return parse_run_config(text, "x.yaml", overrides);
}

// A folder of its own for one test, removed with it.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string pattern = (fs::temp_directory_path() / "run_config_XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp " + pattern);
    path_ = pattern;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const fs::path& path() const { return path_; }
  fs::path write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name) << text;
    return path_ / name;
  }

 private:
  fs::path path_;
};

TEST(RunConfig, AFileHoldsOnlyWhatDiffersFromTheDefaults) {
  RunConfig expected;
  expected.report.name = "x";
  EXPECT_EQ(parse("{}"), expected);
  expected.train.epochs = 7;
  expected.data.augment.flip = true;
  expected.comm.backend = CommConfig::Backend::Ring;
  EXPECT_EQ(parse("train:\n  epochs: 7\ndata:\n  augment:\n    flip: true\ncomm:\n  backend: ring\n"),
            expected);
}

TEST(RunConfig, NumbersAreReadByTheirValue) {
  for (const char* text : {"1e-4", "1.0e-4", "1E-4", ".0001"}) {
    EXPECT_EQ(parse(std::string("optim: {lr: ") + text + "}").optim.lr, 1e-4) << text;
  }
  EXPECT_EQ(parse("train: {max_steps: 1e3}").train.max_steps, 1000);
  EXPECT_EQ(parse("seed: 9223372036854775807").seed, std::numeric_limits<std::int64_t>::max());
}

TEST(RunConfig, TextKeysTakeWhatOtherKeysWouldReadAsNumbersOrWords) {
  EXPECT_EQ(parse("data: {path: 2024}").data.path, "2024");
  EXPECT_EQ(parse("data: {path: true}").data.path, "true");
  EXPECT_EQ(parse("data: {path: 'a \"b\" \\c # é'}").data.path, "a \"b\" \\c # é");
}

TEST(RunConfig, DefaultsFollowTheModel) {
  const RunConfig gpt = parse("model: {name: gpt}");
  EXPECT_EQ(gpt.data.kind, DataConfig::Kind::Text);
  EXPECT_EQ(gpt.data.path, "/usr/share/common-licenses");
  EXPECT_EQ(gpt.model.context, 128);
  EXPECT_EQ(gpt.model.vocab, 256);
  EXPECT_EQ(gpt.optim.name, OptimConfig::Name::AdamW);
  EXPECT_EQ(gpt.optim.lr, 1e-3);
  EXPECT_EQ(gpt.optim.weight_decay, 0.1);

  const RunConfig gpt2 =
      parse("{model: {name: gpt2_124m}, data: {kind: synthetic_tokens}, optim: {lr: 2e-4}}");
  EXPECT_EQ(gpt2.model.context, 1024);
  EXPECT_EQ(gpt2.model.vocab, 50257);
  EXPECT_EQ(gpt2.data.limit, 65536);
  EXPECT_EQ(gpt2.optim.lr, 2e-4);
  EXPECT_EQ(parse("{model: {name: gpt3_1.3b, context: 512}, data: {kind: synthetic_tokens}}").model.context,
            512);
}

TEST(RunConfig, AGlobalBatchDecidesTheAccumulation) {
  EXPECT_EQ(resolve_batch(parse("train: {micro_batch: 8, global_batch: 64}").train, 2),
            (BatchSizes{64, 8, 4}));
  EXPECT_EQ(resolve_batch(parse("train: {micro_batch: 8}").train, 2), (BatchSizes{16, 8, 1}));
  EXPECT_THROW(resolve_batch(parse("train: {micro_batch: 8, global_batch: 64, accumulation: 1}").train, 2),
               InputError);
}

TEST(RunConfig, NaiveIsPerTensorAfter) {
  const CommConfig comm = parse("comm: {naive: true}").comm;
  EXPECT_EQ(comm.grouping, CommConfig::Grouping::PerTensor);
  EXPECT_EQ(comm.schedule, CommConfig::Schedule::After);
  EXPECT_EQ(parse_error("comm: {naive: true, grouping: per_tensor, schedule: after}"), "accepted");
}

TEST(RunConfig, TheRunIsNamedLikeItsFile) {
  const auto name_for = [](const char* file) { return parse_run_config("{}", file, {}).report.name; };
  EXPECT_EQ(name_for("/a/b/fashion_resnet.yaml"), "fashion_resnet");
  EXPECT_EQ(name_for("my run (2).yaml"), "my_run__2_");
  EXPECT_EQ(name_for(".yaml"), "run");
  EXPECT_EQ(name_for(""), "run");
  EXPECT_EQ(parse_run_config("report: {name: mine}", "x.yaml", {}).report.name, "mine");
}

TEST(Overrides, ReplaceWhatTheFileSays) {
  const std::string text = "optim: {lr: 0.1}\nmodel: {name: resnet20}\n";
  EXPECT_EQ(parse(text, {"optim.lr=0.4"}).optim.lr, 0.4);
  EXPECT_EQ(parse(text, {"optim.lr=0.4", "optim.lr=5e-1"}).optim.lr, 0.5);
  EXPECT_EQ(parse(text, {" optim.lr = 0.4 "}).optim.lr, 0.4);
  EXPECT_EQ(parse(text, {"model.name=resnet", "model.blocks=[3, 4]"}).model.blocks, (std::vector<int>{3, 4}));
  EXPECT_EQ(parse(text, {"optim.nesterov=true"}).optim.nesterov, true);
}

TEST(Overrides, TextNeedsNoQuotes) {
  EXPECT_EQ(parse("{}", {"data.path=/a b/c: d#e=f"}).data.path, "/a b/c: d#e=f");
  EXPECT_EQ(parse("{}", {"data.path=\"/a\""}).data.path, "/a");
  EXPECT_EQ(parse("comm: {expect: tcp}", {"comm.expect="}).comm.expect, CommConfig::Link::Auto);
  EXPECT_EQ(parse("comm: {expect: tcp}", {"comm.expect=\"\""}).comm.expect, CommConfig::Link::Auto);
}

TEST(Overrides, ErrorsNameTheOverride) {
  EXPECT_EQ(parse_error("{}", {"optim.lr=fast"}),
            "optim.lr is not a number\n"
            "  where:    --set optim.lr\n"
            "  expected: number above 0, at most 1000\n"
            "  found:    \"fast\"");
  EXPECT_EQ(parse_error("{}", {"lr=0.1"}),
            "unknown key \"lr\" at the top level\n"
            "  where:    --set lr\n"
            "  expected: seed, model, data, train, optim, precision, comm, device, gpu, report or measure\n"
            "  found:    \"lr\"\n"
            "  to do:    \"lr\" belongs in section optim");
  EXPECT_EQ(parse_error("{}", {"optim.lr"}),
            "an override is not of the form key=value\n"
            "  where:    --set\n"
            "  expected: section.key=value, as in optim.lr=0.4\n"
            "  found:    \"optim.lr\"");
  EXPECT_EQ(parse_error("{}", {"optim=sgd"}),
            "optim is a section, not a key\n"
            "  where:    --set optim\n"
            "  expected: optim.key=value\n"
            "  found:    \"optim=sgd\"");
  EXPECT_EQ(parse_problem("{}", {"model.nmae=gpt"}).advice, "did you mean \"name\"?");
  EXPECT_EQ(parse_problem("{}", {"optimizer.adam.lr=1"}).what, "unknown key \"optimizer\" at the top level");
  EXPECT_EQ(parse_problem("{}", {"=1"}).what, "an override is not of the form key=value");
  EXPECT_EQ(parse_problem("{}", {"optim.lr="}).found, "nothing");
  EXPECT_EQ(parse_problem("{}", {"model.blocks=[1"}).where, "--set model.blocks");
  EXPECT_EQ(parse_problem("{}", {"model.heads=4"}).where, "--set model.heads");
  EXPECT_EQ(parse_problem("{}", {"data.path=\xFF"}).what, "an override is not printable UTF-8 text");
  EXPECT_EQ(parse_problem("{}", {std::string(1 << 14, '.') + "=1"}).what,
            "unknown key \"\" at the top level");
}

TEST(ToYaml, ReadsBackAsTheSameConfig) {
  for (const char* text :
       {"{}", "model: {name: gpt}", "model: {name: resnet50, norm: none}",
        "{model: {name: resnet, blocks: [2, 3], stem: imagenet}, data: {kind: synthetic_images, image: [8, "
        "9, 1]}}",
        "{model: {name: gpt2_1.5b, padded_vocab: 50304}, data: {kind: tokens, path: 'a \"b\" \\ # é: -'}}",
        "{optim: {schedule: step, step_epochs: [1, 2], lr: 0.1234567890123456789}, comm: {naive: true}}",
        "{train: {global_batch: 4096}, comm: {expect: tcp, link: tcp, pace_gbit: 1e-3}, seed: "
        "9223372036854775807}",
        "{report: {dir: '- x', name: 'true'}, data: {path: 'no'}, optim: {eps: 1e-30, name: adamw}}"}) {
    const RunConfig config = parse(text);
    const std::string printed = to_yaml(config);
    EXPECT_EQ(parse_run_config(printed, "other.yaml", {}), config) << printed;
    EXPECT_EQ(to_yaml(parse_run_config(printed, "other.yaml", {})), printed);
  }
}

TEST(ToYaml, HoldsEveryKeyThatHasAMeaning) {
  const std::string text = to_yaml(parse("model: {name: resnet20}"));
  EXPECT_THAT(text, HasSubstr("seed: 1\nmodel:\n  name: resnet20\n  width: 16\n  norm: batch\n"));
  EXPECT_THAT(text, HasSubstr("  augment:\n    crop_padding: 0\n    flip: false\ntrain:\n"));
  EXPECT_THAT(text, HasSubstr("\n  expect: \"\"\n"));
  EXPECT_EQ(text.find("heads"), std::string::npos);
}

TEST(Validate, ChecksAConfigThatAProgramBuilt) {
  RunConfig config;
  EXPECT_NO_THROW(validate(config));
  config.model.heads = 8;
  EXPECT_THROW(validate(config), InputError);
  config = RunConfig();
  config.optim.lr = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(validate(config), InputError);
  config = RunConfig();
  config.data.image = {32, 32};
  EXPECT_THROW(validate(config), InputError);
  config = RunConfig();
  config.report.name = "../elsewhere";
  EXPECT_THROW(validate(config), InputError);
}

TEST(ConfigValue, IsTheTextOfOneKey) {
  const RunConfig config = parse("{model: {name: gpt2_1.5b}, data: {kind: synthetic_tokens}}");
  EXPECT_EQ(config_value(config, "model.name"), "gpt2_1.5b");
  EXPECT_EQ(config_value(config, "seed"), "1");
  EXPECT_THROW(config_value(config, "model.nmae"), Error);
}

TEST(LoadRunConfig, NamesTheFileInEveryError) {
  const ScratchFolder folder;
  const fs::path good = folder.write("good.yaml", "seed: 5\n");
  EXPECT_EQ(load_run_config(good, {}).seed, 5);
  EXPECT_EQ(load_run_config(good, Overrides{"seed=6"}).seed, 6);
  EXPECT_EQ(load_run_config(good, {}).report.name, "good");
  const auto where = [](const fs::path& file) {
    try {
      load_run_config(file, {});
    } catch (const InputError& error) {
      return error.problem().where;
    }
    return std::string("accepted");
  };
  EXPECT_EQ(where(folder.write("bad.yaml", "sede: 5\n")),
            (folder.path() / "bad.yaml").string() + ":1:1 (sede)");
  EXPECT_EQ(where(folder.path()), folder.path().string());
  EXPECT_EQ(where(folder.path() / "none.yaml"), (folder.path() / "none.yaml").string());
}

TEST(FindConfig, LooksInTheFoldersInOrder) {
  const ScratchFolder first;
  const ScratchFolder second;
  const std::vector<fs::path> folders = {first.path(), second.path()};
  const fs::path in_second = second.write("only_here.yaml", "{}");
  EXPECT_EQ(find_config("only_here.yaml", folders), in_second);
  EXPECT_EQ(find_config("only_here", folders), in_second);
  EXPECT_EQ(find_config(in_second.string(), {}), in_second);
  const fs::path in_first = first.write("only_here.yaml", "{}");
  EXPECT_EQ(find_config("only_here.yaml", folders), in_first);
  fs::create_directory(first.path() / "folder.yaml");
  EXPECT_THROW(find_config("folder.yaml", folders), InputError);
  EXPECT_THROW(find_config("", folders), InputError);
}

TEST(FindConfig, TheErrorListsWhereItLooked) {
  const ScratchFolder folder;
  folder.write("fashion_resnet.yaml", "{}");
  const std::vector<fs::path> folders = {folder.path()};
  try {
    find_config("fashion_resent.yaml", folders);
    FAIL() << "found";
  } catch (const InputError& error) {
    EXPECT_EQ(error.problem().what, "there is no config \"fashion_resent.yaml\"");
    EXPECT_EQ(error.problem().where, "--config");
    EXPECT_EQ(error.problem().expected,
              "a file at fashion_resent.yaml or " + (folder.path() / "fashion_resent.yaml").string());
    EXPECT_THAT(error.problem().found, HasSubstr("fashion_resnet.yaml"));
    EXPECT_EQ(error.problem().advice, "did you mean fashion_resnet.yaml?");
  }
}

}  // namespace
}  // namespace tandem
