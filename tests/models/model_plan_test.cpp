#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "models/registry.h"
#include "support/memory_property.h"
#include "support/planned_run.h"
#include "support/silent_backend.h"

namespace tandem {

void PrintTo(const ModelSpec& spec, std::ostream* out) {
  *out << spec.name;
}

namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;

ModelSpec spec_of(const std::string& name) {
  ModelSpec spec{.name = name};
  if (name.starts_with("gpt")) {
    const bool free = name == "gpt";
    spec.context = free ? 16 : name == "gpt3_1.3b" ? 2048 : 1024;
    spec.vocab = free ? 256 : 50257;
  } else if (!name.ends_with("8") || name == "resnet18") {
    spec.classes = 1000;
    spec.image = {224, 224, 3};
  }
  return spec;
}

Plan plan_of(const ModelSpec& spec, std::int64_t micro_batch) {
  SilentBackend backend;
  Planner planner(backend, DType::F32);
  auto model = make_model(spec, micro_batch);
  model.plan(planner);
  return planner.finish();
}

std::vector<std::string> names_in(const Plan& plan) {
  std::vector<std::string> names;
  for (const auto& parameter : plan.parameters) names.push_back(parameter.name);
  return names;
}

struct PublishedCount {
  std::string name;
  std::int64_t parameters;
};
void PrintTo(const PublishedCount& published, std::ostream* out) {
  *out << published.name;
}

class ParameterCountTest : public ::testing::TestWithParam<PublishedCount> {};

TEST_P(ParameterCountTest, EqualsThePublished) {
  const auto plan = plan_of(spec_of(GetParam().name), 1);
  EXPECT_EQ(one_bucket_layout(plan).parameters(), ElementCount(GetParam().parameters));
}

// ResNets: torchvision's models. GPT-2: Hugging Face's checkpoints gpt2, gpt2-medium, gpt2-large, gpt2-xl.
// GPT-3 1.3B: 12 L C^2 + 13 L C of the blocks, (50,257 + 2,048) C of the tables, 2 C of the last norm.
INSTANTIATE_TEST_SUITE_P(
    Models, ParameterCountTest,
    ::testing::Values(PublishedCount{"resnet18", 11'689'512}, PublishedCount{"resnet34", 21'797'672},
                      PublishedCount{"resnet50", 25'557'032}, PublishedCount{"resnet101", 44'549'160},
                      PublishedCount{"resnet152", 60'192'808}, PublishedCount{"gpt2_124m", 124'439'808},
                      PublishedCount{"gpt2_350m", 354'823'168}, PublishedCount{"gpt2_774m", 774'030'080},
                      PublishedCount{"gpt2_1.5b", 1'557'611'200},
                      PublishedCount{"gpt3_1.3b",
                                     24 * (12 * 2048LL * 2048 + 13 * 2048) + (50257 + 2048 + 2) * 2048LL}));

TEST(ModelPlanTest, PaddingDoesNotCount) {
  auto spec = spec_of("gpt2_124m");
  spec.padded_vocab = 50304;
  EXPECT_EQ(one_bucket_layout(plan_of(spec, 1)).parameters(), ElementCount(124'439'808));
}

class EveryModelTest : public ::testing::TestWithParam<std::string> {};

TEST_P(EveryModelTest, MemoryIsDisjointAndLittleIsWasted) {
  auto spec = spec_of(GetParam());
  spec.dropout = 0.1f;
  const auto plan = plan_of(spec, 2);
  const auto train = expect_disjoint_memory(plan, Mode::Train);
  const auto evaluate = expect_disjoint_memory(plan, Mode::Evaluate);
  EXPECT_LT(evaluate, train);
  // No order of placing is always without gaps; a tenth above the lower bound would be a mistake here.
  EXPECT_LE(plan.arena_bytes.value(), train.value() * 11 / 10);
}

TEST_P(EveryModelTest, EveryParameterHasItsGradientAndItsOwnName) {
  const auto plan = plan_of(spec_of(GetParam()), 1);
  EXPECT_EQ(plan.ready_order().size(), plan.parameters.size());
  EXPECT_NO_THROW(one_bucket_layout(plan));  // refuses a name that occurs twice
}

INSTANTIATE_TEST_SUITE_P(Models, EveryModelTest, ::testing::ValuesIn(model_names()), [](const auto& test) {
  std::string name = test.param;
  std::ranges::replace(name, '.', '_');
  return name;
});

// In both modes, a model's layers use exactly what they planned.
class ExecutionTest : public ::testing::TestWithParam<ModelSpec> {};

TEST_P(ExecutionTest, FollowsThePlan) {
  SilentBackend backend;
  Planner planner(backend, DType::F32);
  auto model = make_model(GetParam(), 2);
  model.plan(planner);
  PlannedRun run(planner.finish());
  const HostTensor batch(model.input().shape, model.input().dtype);
  const HostTensor targets({model.input().targets}, DType::I32);
  const HostTensor positions({2}, DType::I64);
  run.context.bind_external(model.batch(), batch.view());
  run.context.bind_external(model.targets(), targets.view());
  if (model.positions().valid()) run.context.bind_external(model.positions(), positions.view());

  for (const auto mode : {Mode::Train, Mode::Evaluate, Mode::Train}) {
    run.begin(mode);
    run.sink.begin_micro_batch(0, 1);
    model.forward(run.context);
    if (mode == Mode::Train) model.backward(run.context);
    EXPECT_NO_THROW(run.context.expect_finished());
  }
  run.stream->synchronize();  // before the tensors that its work reads are gone
}

INSTANTIATE_TEST_SUITE_P(
    Models, ExecutionTest,
    ::testing::Values(
        ModelSpec{.name = "resnet8"}, ModelSpec{.name = "resnet20", .norm = ResNetNorm::None},
        ModelSpec{.name = "resnet",
                  .width = 4,
                  .blocks = {2, 1},
                  .block = ResidualKind::Bottleneck,
                  .stem = ResNetStem::ImageNet,
                  .norm = ResNetNorm::Frozen},
        ModelSpec{.name = "resnet", .width = 4, .blocks = {2}, .stem_stride = 2},
        ModelSpec{.name = "gpt", .layers = 2, .channels = 16, .context = 8},
        ModelSpec{.name = "gpt",
                  .layers = 3,
                  .channels = 16,
                  .context = 8,
                  .dropout = 0.1f,
                  .recompute_blocks = true},
        ModelSpec{
            .name = "gpt", .layers = 2, .channels = 16, .context = 8, .padded_vocab = 384, .dropout = 0.1f}));

TEST(ModelPlanTest, ResNetIsNamedAsTorchvisions) {
  const auto plan = plan_of(spec_of("resnet50"), 1);
  const auto names = names_in(plan);
  EXPECT_EQ(names.size(), 161u);
  for (const auto* name : {"conv1.weight", "bn1.bias", "layer1.0.downsample.0.weight", "layer4.2.bn3.weight",
                           "layer2.0.downsample.1.bias", "layer3.5.conv2.weight", "fc.weight", "fc.bias"}) {
    EXPECT_THAT(names, Contains(name));
  }
  EXPECT_THAT(names, Not(Contains("layer1.1.downsample.0.weight")));
  std::vector<std::string> buffers;
  for (const auto& buffer : plan.buffers) buffers.push_back(buffer.name);
  EXPECT_THAT(buffers, Contains("layer1.0.bn2.running_mean"));
  EXPECT_THAT(buffers, Contains("layer1.0.downsample.1.running_var"));
  EXPECT_EQ(buffers.size(), 106u);
}

TEST(ModelPlanTest, GptIsNamedAsHuggingFaces) {
  auto spec = spec_of("gpt");
  spec.layers = 1;
  EXPECT_THAT(
      names_in(plan_of(spec, 1)),
      ElementsAre("wte.weight", "wpe.weight", "h.0.ln_1.weight", "h.0.ln_1.bias", "h.0.attn.c_attn.weight",
                  "h.0.attn.c_attn.bias", "h.0.attn.c_proj.weight", "h.0.attn.c_proj.bias", "h.0.ln_2.weight",
                  "h.0.ln_2.bias", "h.0.mlp.c_fc.weight", "h.0.mlp.c_fc.bias", "h.0.mlp.c_proj.weight",
                  "h.0.mlp.c_proj.bias", "ln_f.weight", "ln_f.bias"));
}

TEST(ModelPlanTest, GradientsBecomeReadyFromTheEnd) {
  const auto plan = plan_of(spec_of("resnet8"), 1);
  const auto order = plan.ready_order();
  EXPECT_EQ(plan.parameters[static_cast<std::size_t>(order.front().index)].name, "fc.weight");
  EXPECT_EQ(plan.parameters[static_cast<std::size_t>(order.back().index)].name, "conv1.weight");
}

TEST(ModelPlanTest, TiedTableIsWrittenByTheHeadAndReadyAfterTheEmbedding) {
  const auto plan = plan_of(spec_of("gpt"), 1);
  const auto names = names_in(plan);
  const auto order = plan.ready_order();
  EXPECT_EQ(plan.gradient_uses()[0], 2);
  EXPECT_EQ(plan.gradient_writes.front().index, 0) << "the head writes first";
  EXPECT_EQ(names[static_cast<std::size_t>(order[order.size() - 2].index)], "wte.weight");
  EXPECT_EQ(names[static_cast<std::size_t>(order.back().index)], "wpe.weight");
}

TEST(ModelPlanTest, FirstValuesAreGpt2s) {
  const auto plan = plan_of(spec_of("gpt2_124m"), 1);
  std::map<std::string, Initializer> first;
  for (const auto& parameter : plan.parameters) first[parameter.name] = parameter.initializer;
  EXPECT_EQ(first["wte.weight"].scale, 0.02f);
  EXPECT_EQ(first["h.3.attn.c_attn.weight"].scale, 0.02f);
  const float projection = 0.02f / std::sqrt(24.0f);
  EXPECT_FLOAT_EQ(first["h.3.attn.c_proj.weight"].scale, projection);
  EXPECT_FLOAT_EQ(first["h.3.mlp.c_proj.weight"].scale, projection);
  EXPECT_EQ(first["h.3.mlp.c_fc.bias"].kind, Initializer::Kind::Constant);
  EXPECT_EQ(first["h.3.mlp.c_fc.bias"].scale, 0.0f);
  EXPECT_EQ(first["ln_f.weight"].scale, 1.0f);
}

TEST(ModelPlanTest, ZeroInitTouchesTheLastScaleOfEachBlockOnly) {
  auto spec = spec_of("resnet50");
  spec.zero_init_last_scale = true;
  for (const auto& parameter : plan_of(spec, 1).parameters) {
    const bool is_scale =
        parameter.initializer.kind == Initializer::Kind::Constant && parameter.name.ends_with("weight");
    if (!is_scale) continue;
    EXPECT_EQ(parameter.initializer.scale, parameter.name.ends_with("bn3.weight") ? 0.0f : 1.0f)
        << parameter.name;
  }
}

// --- Multiply-adds ----------------------------------------------------------------------------------------

struct PublishedWork {
  std::string name;
  double forward;  // 1e9 multiply-adds of one image of 224 x 224, as torchvision's model pages list them
};
void PrintTo(const PublishedWork& published, std::ostream* out) {
  *out << published.name;
}

class WorkTest : public ::testing::TestWithParam<PublishedWork> {};

// Backward is twice forward, but for the gradient of the images, which nobody needs.
TEST_P(WorkTest, OfTrainingIsThreeTimesThePublishedOfForward) {
  const auto& published = GetParam();
  constexpr std::int64_t kStem = 112LL * 112 * 64 * 7 * 7 * 3;
  for (const std::int64_t images : {1, 4}) {
    const auto plan = plan_of(spec_of(published.name), images);
    const auto forward = static_cast<double>(plan.multiply_adds / images + kStem) / 3.0;
    EXPECT_NEAR(forward * 1e-9, published.forward, 5.1e-4);
  }
}

INSTANTIATE_TEST_SUITE_P(ResNets, WorkTest,
                         ::testing::Values(PublishedWork{"resnet18", 1.814}, PublishedWork{"resnet34", 3.664},
                                           PublishedWork{"resnet50", 4.089},
                                           PublishedWork{"resnet101", 7.801},
                                           PublishedWork{"resnet152", 11.514}));

TEST(Work, OfAnImageDoesNotDependOnHowTheStemIsStored) {
  SilentBackend backend;  // prefers blocks in 16 bits
  Planner in_blocks(backend, DType::BF16);
  make_model(spec_of("resnet50"), 2).plan(in_blocks);
  EXPECT_EQ(in_blocks.finish().multiply_adds, plan_of(spec_of("resnet50"), 2).multiply_adds);
}

// 6 operations per matrix weight and token and 12 layers x channels x context for attention (Chowdhery et
// al., "PaLM", appendix B), halved: multiply-adds.
TEST(Work, OfAGptIsWhatTheParametersAndTheContextSay) {
  for (const std::string name : {"gpt2_124m", "gpt2_350m"}) {
    const auto spec = spec_of(name);
    const auto plan = plan_of(spec, 2);
    std::int64_t matrices = 0, layers = 0, channels = 0;
    for (const auto& parameter : plan.parameters) {
      if (parameter.name.ends_with("wte.weight")) channels = parameter.stored[1];
      if (parameter.name.ends_with("attn.c_attn.weight")) ++layers;
      if (parameter.stored.rank() == 2 && !parameter.name.ends_with("wpe.weight"))
        matrices += parameter.stored.elements().value();
    }
    const std::int64_t tokens = 2 * spec.context;
    EXPECT_EQ(plan.multiply_adds, tokens * (3 * matrices + 6 * layers * channels * spec.context)) << name;
  }
}

}  // namespace
}  // namespace tandem
