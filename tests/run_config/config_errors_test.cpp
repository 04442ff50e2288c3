// The words of the errors, exactly: they are what a user reads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "parse_error.h"

namespace tandem {
namespace {

TEST(ConfigErrors, UnknownKey) {
  EXPECT_EQ(
      parse_error("model:\n  name: resnet20\n\ntrain:\n  epocs: 3\n"),
      "unknown key \"epocs\" in section train\n"
      "  where:    x.yaml:5:3 (train.epocs)\n"
      "  expected: epochs, max_steps, micro_batch, accumulation, global_batch, recompute, label_smoothing, "
      "eval_every, log_every or warmup_steps_excluded\n"
      "  found:    \"train.epocs\"\n"
      "  to do:    did you mean \"epochs\"?");
}

TEST(ConfigErrors, KeyInTheWrongSection) {
  EXPECT_EQ(parse_error("seed: 1\nmomentum: 0.9\n"),
            "unknown key \"momentum\" at the top level\n"
            "  where:    x.yaml:2:1 (momentum)\n"
            "  expected: seed, model, data, train, optim, precision, comm, device, gpu, report or measure\n"
            "  found:    \"momentum\"\n"
            "  to do:    \"momentum\" belongs in section optim");
  EXPECT_EQ(parse_problem("train: {name: x}").advice, "\"name\" belongs in section model, optim or report");
  EXPECT_EQ(parse_problem("train: {optim: {lr: 1}}").advice, "\"optim\" belongs at the top level");
  EXPECT_EQ(parse_problem("augment: {flip: true}").advice, "\"augment\" belongs in section data");
  EXPECT_EQ(parse_problem("data: {flip: true}").advice, "\"flip\" belongs in section data.augment");
  EXPECT_EQ(parse_problem("train: {momentun: 1}").advice,
            "did you mean \"momentum\"? \"momentum\" belongs in section optim");
}

TEST(ConfigErrors, NamesThatOtherTrainersUse) {
  EXPECT_EQ(parse_problem("learning_rate: 1").advice, "did you mean optim.lr?");
  EXPECT_EQ(parse_problem("optimizer: {lr: 1}").advice, "did you mean optim.name?");
  EXPECT_EQ(parse_problem("train: {batch_size: 1}").advice, "did you mean train.micro_batch?");
}

TEST(ConfigErrors, SectionAndKeyInOneName) {
  EXPECT_EQ(parse_error("optim.lr: 0.1\n"),
            "\"optim.lr\" is a key with its section in one name\n"
            "  where:    x.yaml:1:1 (optim.lr)\n"
            "  expected: \"lr\" indented below \"optim:\"\n"
            "  found:    \"optim.lr\"\n"
            "  to do:    the short form is for --set only");
}

TEST(ConfigErrors, WrongType) {
  EXPECT_EQ(parse_error("optim:\n  lr: 1e-4x\n"),
            "optim.lr is not a number\n"
            "  where:    x.yaml:2:7 (optim.lr)\n"
            "  expected: number above 0, at most 1000\n"
            "  found:    \"1e-4x\"\n"
            "  to do:    remove \"x\"");
  EXPECT_EQ(parse_error("train:\n  epochs: 3.5\n"),
            "train.epochs is not an integer\n"
            "  where:    x.yaml:2:11 (train.epochs)\n"
            "  expected: integer from 1 to 1000000\n"
            "  found:    \"3.5\"");
  EXPECT_EQ(parse_error("optim:\n  nesterov: yes\n"),
            "optim.nesterov is neither true nor false\n"
            "  where:    x.yaml:2:13 (optim.nesterov)\n"
            "  expected: true or false\n"
            "  found:    \"yes\"\n"
            "  to do:    write true");
  EXPECT_EQ(parse_problem("optim: {nesterov: Off}").advice, "write false");
  EXPECT_EQ(parse_problem("train: {epochs: \"3\"}").advice, "write it plain, without quotes");
  EXPECT_EQ(parse_problem("train: {epochs: }").found, "nothing");
  EXPECT_EQ(parse_problem("train: {epochs: [3]}").found, "a list");
  EXPECT_EQ(parse_problem("train: {epochs: {a: 3}}").found, "a section");
  EXPECT_EQ(parse_problem("train: {epochs: " + std::string(100, 'x') + "}").found,
            '"' + std::string(60, 'x') + "\" …");
  EXPECT_EQ(parse_problem("seed: \"\\e[31m\"").found, "\"\\x1B[31m\"");
}

TEST(ConfigErrors, UnknownWord) {
  EXPECT_EQ(parse_error("optim: {schedule: cosin}"),
            "optim.schedule has an unknown value\n"
            "  where:    x.yaml:1:19 (optim.schedule)\n"
            "  expected: constant, step, cosine or linear\n"
            "  found:    \"cosin\"\n"
            "  to do:    did you mean \"cosine\"?");
}

TEST(ConfigErrors, Range) {
  EXPECT_EQ(parse_error("optim: {momentum: 1}"),
            "optim.momentum is out of range\n"
            "  where:    x.yaml:1:19 (optim.momentum)\n"
            "  expected: number from 0, below 1\n"
            "  found:    \"1\"");
  EXPECT_EQ(parse_error("model:\n  name: resnet\n  blocks: [2, 1000]\n"),
            "model.blocks has an element out of range\n"
            "  where:    x.yaml:3:11 (model.blocks)\n"
            "  expected: list of 1 to 8 integers, each from 1 to 256\n"
            "  found:    \"1000\"");
}

TEST(ConfigErrors, DuplicateKey) {
  EXPECT_EQ(parse_error("optim:\n  lr: 0.1\n  name: sgd\n  lr: 0.2\n"),
            "duplicate key \"lr\"\n"
            "  where:    x.yaml:4:3 (optim.lr)\n"
            "  expected: each key once\n"
            "  found:    the same key at line 2\n"
            "  to do:    delete one of the two");
  EXPECT_EQ(parse_problem("seed: 1\noptim: {}\nseed: 1\n").where, "x.yaml:3:1 (seed)");
  EXPECT_EQ(parse_problem("optim: {}\noptim: {}\n").what, "duplicate key \"optim\"");
  EXPECT_EQ(parse_problem("\"seed\": 1\nseed: 1\n").what, "duplicate key \"seed\"");
}

TEST(ConfigErrors, NoKeysAtTheTop) {
  EXPECT_EQ(parse_error("- seed: 1\n"),
            "the config file does not hold keys at its top level\n"
            "  where:    x.yaml:1:1\n"
            "  expected: lines of \"key: value\"\n"
            "  found:    a list");
  EXPECT_EQ(parse_problem("resnet50").found, "\"resnet50\"");
  for (const char* text : {"", "\n\n", "# nothing but a comment\n", "---\n", "~\n", "\xEF\xBB\xBF"}) {
    EXPECT_EQ(parse_error(text),
              "the config file is empty\n"
              "  where:    x.yaml\n"
              "  expected: lines of \"key: value\"\n"
              "  found:    nothing\n"
              "  to do:    for a run with all defaults, write {}")
        << text;
  }
  EXPECT_EQ(parse_error("{}"), "accepted");
}

TEST(ConfigErrors, SectionWithoutKeys) {
  EXPECT_EQ(parse_error("optim:\n\ntrain:\n  epochs: 3\n"),
            "optim is a section, not a value\n"
            "  where:    x.yaml:1:1 (optim)\n"
            "  expected: keys on the lines below, indented by two spaces\n"
            "  found:    nothing\n"
            "  to do:    delete the line, or indent what belongs to it");
  EXPECT_EQ(parse_problem("optim: sgd").found, "\"sgd\"");
  EXPECT_EQ(parse_problem("optim: [sgd]").found, "a list");
}

TEST(ConfigErrors, YamlThatSaysMoreThanItSeems) {
  EXPECT_EQ(parse_error("optim: &o\n  lr: 1\n"),
            "anchors, aliases and merge keys are not accepted\n"
            "  where:    x.yaml:1:8 (optim)\n"
            "  expected: values written out\n"
            "  found:    an anchor (&name)\n"
            "  to do:    write the value where it is used");
  EXPECT_EQ(parse_problem("seed: &s 1").found, "an anchor (&name)");
  EXPECT_EQ(parse_problem("&s seed: 1").found, "an anchor (&name)");
  EXPECT_EQ(parse_problem("model: {name: resnet, blocks: &b [1]}").found, "an anchor (&name)");
  EXPECT_EQ(parse_problem("optim:\n  <<: {lr: 1}\n").found, "a merge key (<<)");
  EXPECT_EQ(parse_problem("seed: *s").where, "x.yaml:1:7");
  EXPECT_EQ(parse_problem("seed: !!int 1").what, "YAML tags are not accepted");
  EXPECT_EQ(parse_problem("model: !resnet {}").what, "YAML tags are not accepted");
  EXPECT_EQ(parse_problem("seed: 1\n---\nseed: 2\n").what, "more than one YAML document");
  EXPECT_EQ(parse_problem("? [a]\n: 1\n").what, "a key that is not a name");
  EXPECT_EQ(parse_problem(": 1\n").found, "nothing before the colon");
  EXPECT_EQ(parse_problem("\"a\\nb\": 1\n").found, "a control character");
  EXPECT_EQ(parse_problem("seed: " + std::string(30, '[') + std::string(30, ']')).what, "too many levels");
}

TEST(ConfigErrors, AQuoteThatIsNeverClosed) {
  for (const std::string quote : {"\"", "'"}) {
    for (const std::string end :
         {"", "\n", "\n\n", " \n  \n", "\r\n", "\nreport: {name: a}\n", "\n# end\n", "\\", "\\\n"}) {
      const std::string text = "data:\n  path: " + quote + "/a" + end;
      EXPECT_EQ(parse_problem(text).what, "this is not YAML") << text;
    }
  }
}

// The library's own words differ between its versions; that and where it failed do not.
TEST(ConfigErrors, NotYaml) {
  for (const char* text : {"seed: [1\n", "seed: 1\n bad: 2\n", "seed: \"1\n", "}", "a: b: c", "seed: @x"}) {
    const InputProblem problem = parse_problem(text);
    EXPECT_EQ(problem.what, "this is not YAML") << text;
    EXPECT_TRUE(problem.where.starts_with("x.yaml:")) << text;
    EXPECT_FALSE(problem.found.empty()) << text;
  }
}

TEST(ConfigErrors, KeyWithoutAMeaning) {
  EXPECT_EQ(parse_error("model:\n  name: resnet20\n  heads: 4\n"),
            "model.heads has no meaning for model resnet20\n"
            "  where:    x.yaml:3:10 (model.heads)\n"
            "  expected: this key with model.name gpt only\n"
            "  found:    model.name: resnet20\n"
            "  to do:    delete model.heads, or change model.name");
  EXPECT_EQ(parse_problem("optim: {step_gamma: 0.5}").what,
            "optim.step_gamma has no meaning for optim.schedule cosine");
}

struct BrokenRule {
  const char* name;
  const char* text;
  const char* what;
  const char* where;
};

class ConfigRule : public ::testing::TestWithParam<BrokenRule> {};

TEST_P(ConfigRule, IsNamedWhenBroken) {
  const InputProblem problem = parse_problem(GetParam().text);
  EXPECT_EQ(problem.what, GetParam().what);
  EXPECT_EQ(problem.where, GetParam().where);
}

INSTANTIATE_TEST_SUITE_P(
    , ConfigRule,
    ::testing::Values(
        BrokenRule{"Heads", "model: {name: gpt, heads: 3}", "model.channels is not a multiple of model.heads",
                   "x.yaml:1:27 (model.heads)"},
        BrokenRule{"PaddedVocab", "model: {name: gpt, padded_vocab: 255}",
                   "model.padded_vocab is smaller than model.vocab", "x.yaml:1:34 (model.padded_vocab)"},
        BrokenRule{"ByteVocab", "model: {name: gpt, vocab: 255}",
                   "model.vocab is too small for text, which is read byte by byte",
                   "x.yaml:1:27 (model.vocab)"},
        BrokenRule{"GptOnImages", "{model: {name: gpt}, data: {kind: cifar10}}",
                   "model gpt cannot be trained on data cifar10", "x.yaml:1:35 (data.kind)"},
        BrokenRule{"ResNetOnText", "data: {kind: text}", "model resnet8 cannot be trained on data text",
                   "x.yaml:1:14 (data.kind)"},
        BrokenRule{"NoPath", "data: {kind: cifar10}", "data.path is missing", "data.path (default)"},
        BrokenRule{"EmptyPath", "data: {path: \"\"}", "data.path is missing", "x.yaml:1:14 (data.path)"},
        BrokenRule{"EndlessData", "data: {kind: synthetic_images, limit: 0}",
                   "data.limit is 0, but synthetic data has no end", "x.yaml:1:39 (data.limit)"},
        BrokenRule{"CropPadding", "data: {kind: synthetic_images, augment: {crop_padding: 33}}",
                   "data.augment.crop_padding is larger than the image",
                   "x.yaml:1:56 (data.augment.crop_padding)"},
        BrokenRule{"TwoWarmUps", "optim: {warmup_steps: 5, warmup_epochs: 1}",
                   "optim.warmup_steps and optim.warmup_epochs are both set",
                   "x.yaml:1:23 (optim.warmup_steps)"},
        BrokenRule{"LongWarmUp", "optim: {warmup_epochs: 5}", "the warm-up does not end within the run",
                   "x.yaml:1:24 (optim.warmup_epochs)"},
        BrokenRule{"NoSteps", "optim: {schedule: step}",
                   "optim.schedule step needs optim.step_epochs in rising order",
                   "x.yaml:1:19 (optim.schedule)"},
        BrokenRule{"StepsFall", "optim: {schedule: step, step_epochs: [3, 3]}",
                   "optim.schedule step needs optim.step_epochs in rising order",
                   "x.yaml:1:38 (optim.step_epochs)"},
        BrokenRule{"Naive", "comm: {naive: true, schedule: overlapped}",
                   "comm.naive and comm.schedule disagree", "x.yaml:1:31 (comm.schedule)"},
        BrokenRule{"NaiveGrouping", "comm: {naive: true, grouping: bucketed}",
                   "comm.naive and comm.grouping disagree", "x.yaml:1:31 (comm.grouping)"},
        BrokenRule{"Expect", "comm: {link: shm, expect: tcp}", "comm.expect is another path than comm.link",
                   "x.yaml:1:27 (comm.expect)"},
        BrokenRule{"RegisterOnPcie", "comm: {link: pcie, register: true}",
                   "registered memory travels over NVLink even where comm.link is pcie",
                   "x.yaml:1:30 (comm.register)"},
        BrokenRule{"ContentionUnmeasured", "report: {metrics: off}\nmeasure: {contention: on}",
                   "measure.contention needs the timing of steps, which report.metrics switches off",
                   "x.yaml:2:23 (measure.contention)"},
        BrokenRule{"FirstBucket", "comm: {first_bucket_mb: 26}",
                   "comm.first_bucket_mb is larger than comm.bucket_mb",
                   "x.yaml:1:25 (comm.first_bucket_mb)"},
        BrokenRule{"SmallBuckets", "comm: {bucket_mb: 0.5}",
                   "comm.first_bucket_mb is larger than comm.bucket_mb", "x.yaml:1:19 (comm.bucket_mb)"}),
    [](const auto& test) { return test.param.name; });

TEST(ConfigErrors, NumbersThatSinglePrecisionCannotTellFromABound) {
  for (const auto* set : {"optim.lr=1e-60", "optim.clip_norm=1e-60", "optim.momentum=0.99999999999",
                          "train.label_smoothing=0.9999999999", "comm.bucket_mb=1e-50"}) {
    const auto problem = parse_problem("{}", {set});
    EXPECT_THAT(problem.what, ::testing::HasSubstr("is out of range")) << set;
    EXPECT_EQ(problem.advice, "numbers are single precision: keep further from the bound") << set;
  }
  for (const auto* set : {"optim.beta2=0.99999999999", "optim.beta1=0.99999999999", "optim.eps=1e-300"}) {
    EXPECT_THAT(parse_problem("optim: {name: adamw}", {set}).what, ::testing::HasSubstr("is out of range"))
        << set;
  }
  EXPECT_EQ(parse_error("{}", {"optim.momentum=0.9999999", "optim.lr=1e-30", "optim.clip_norm=0"}),
            "accepted");
}

TEST(ConfigErrors, ALatencyThatNothingPaces) {
  EXPECT_EQ(parse_problem("comm: {pace_latency_us: 10}").what,
            "comm.pace_latency_us has no effect without comm.pace_gbit");
  EXPECT_EQ(parse_error("comm: {pace_latency_us: 10, pace_gbit: 1}"), "accepted");
}

TEST(ConfigErrors, AFileWithoutEnd) {
  EXPECT_THROW(load_run_config("/dev/zero", {}), InputError);
}

}  // namespace
}  // namespace tandem
