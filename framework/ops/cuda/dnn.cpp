// The only file that includes cudnn-frontend.
#include "ops/cuda/dnn.h"

#include <cudnn_frontend.h>

#include <array>
#include <cmath>
#include <functional>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "device/cuda/cuda_stream.h"
#include "device/cuda/handle.h"
#include "ops/cuda/cuda_context.h"

namespace tandem {
namespace {

namespace fe = cudnn_frontend;
using Graph = fe::graph::Graph;
using Tensor = std::shared_ptr<fe::graph::Tensor_attributes>;
using Extents = std::vector<std::int64_t>;

constexpr std::size_t kMaxCandidates = 40;  // precompiled engines: building one takes milliseconds
constexpr std::int64_t kMaxConvWorkspace = 512ll << 20;

void check(fe::error_t status, const char* expression, const std::string& problem,
           std::source_location site = std::source_location::current()) {
  if (status.is_bad()) throw Error("cuDNN", expression, problem + ": " + status.get_message(), site);
}
#define TANDEM_FE(problem, expression) check((expression), #expression, (problem))

void check(cudnnStatus_t status, const char* expression,
           std::source_location site = std::source_location::current()) {
  if (status != CUDNN_STATUS_SUCCESS) throw Error("cuDNN", expression, cudnnGetErrorString(status), site);
}
#define TANDEM_CUDNN(expression) check((expression), #expression)

void destroy_handle(cudnnHandle_t raw) noexcept {
  static_cast<void>(cudnnDestroy(raw));  // fails only after the GPU has, which was reported
}

fe::DataType_t data_type(DType dtype) {
  switch (dtype) {
    case DType::BF16:
      return fe::DataType_t::BFLOAT16;
    case DType::F16:
      return fe::DataType_t::HALF;
    default:
      return fe::DataType_t::FLOAT;
  }
}

std::shared_ptr<Graph> new_graph(DType dtype) {
  auto graph = std::make_shared<Graph>();
  graph->set_io_data_type(data_type(dtype))
      .set_intermediate_data_type(fe::DataType_t::FLOAT)
      .set_compute_data_type(fe::DataType_t::FLOAT);
  return graph;
}

Tensor input(Graph& graph, std::int64_t id, const Extents& extents, const Extents& strides, DType dtype) {
  return graph.tensor(fe::graph::Tensor_attributes()
                          .set_name(fmt::format("t{}", id))
                          .set_uid(id)
                          .set_dim(extents)
                          .set_stride(strides)
                          .set_data_type(data_type(dtype)));
}

void output(const Tensor& tensor, std::int64_t id, const Extents& extents, const Extents& strides,
            DType dtype) {
  tensor->set_output(true).set_uid(id).set_dim(extents).set_stride(strides).set_data_type(data_type(dtype));
}

// cuDNN names extents N, C, H, W whatever the layout; the strides say that C lies innermost.
Extents channels_last(std::int64_t C, std::int64_t H, std::int64_t W) {
  return {H * W * C, 1, W * C, C};
}

std::shared_ptr<Graph> describe_conv(const Conv2dSpec& spec, ConvDirection direction, DType weight_gradient) {
  auto graph = new_graph(spec.dtype);
  const Extents x_dim{spec.N, spec.C, spec.H, spec.W}, x_stride = channels_last(spec.C, spec.H, spec.W);
  const Extents w_dim{spec.K, spec.C, spec.R, spec.S}, w_stride = channels_last(spec.C, spec.R, spec.S);
  const Extents y_dim{spec.N, spec.K, spec.P(), spec.Q()},
      y_stride = channels_last(spec.K, spec.P(), spec.Q());
  const Extents padding{spec.padding, spec.padding}, stride{spec.stride, spec.stride}, dilation{1, 1};
  if (direction == ConvDirection::Forward) {
    const auto x = input(*graph, ConvOperand::kX, x_dim, x_stride, spec.dtype);
    const auto w = input(*graph, ConvOperand::kW, w_dim, w_stride, spec.dtype);
    const auto y = graph->conv_fprop(
        x, w,
        fe::graph::Conv_fprop_attributes().set_padding(padding).set_stride(stride).set_dilation(dilation));
    output(y, ConvOperand::kY, y_dim, y_stride, spec.dtype);
  } else if (direction == ConvDirection::BackwardInput) {
    const auto dy = input(*graph, ConvOperand::kY, y_dim, y_stride, spec.dtype);
    const auto w = input(*graph, ConvOperand::kW, w_dim, w_stride, spec.dtype);
    const auto dx = graph->conv_dgrad(
        dy, w,
        fe::graph::Conv_dgrad_attributes().set_padding(padding).set_stride(stride).set_dilation(dilation));
    output(dx, ConvOperand::kX, x_dim, x_stride, spec.dtype);
  } else {
    const auto dy = input(*graph, ConvOperand::kY, y_dim, y_stride, spec.dtype);
    const auto x = input(*graph, ConvOperand::kX, x_dim, x_stride, spec.dtype);
    const auto dw = graph->conv_wgrad(
        dy, x,
        fe::graph::Conv_wgrad_attributes().set_padding(padding).set_stride(stride).set_dilation(dilation));
    output(dw, ConvOperand::kW, w_dim, w_stride, weight_gradient);
  }
  return graph;
}

// Queries, keys and values lie side by side in each token's row; strides pick them apart.
std::shared_ptr<Graph> describe_attention(const AttentionSpec& spec, bool backward, bool deterministic) {
  auto graph = new_graph(spec.dtype);
  const std::int64_t C = spec.heads * spec.D;
  const Extents dim{spec.B, spec.heads, spec.T, spec.D};
  const Extents packed{spec.T * 3 * C, spec.D, 3 * C, 1};
  const Extents merged{spec.T * C, spec.D, C, 1};
  const Extents rows{spec.B, spec.heads, spec.T, 1};
  const Extents rows_stride{spec.heads * spec.T, spec.T, 1, 1};
  const float scale = 1.0f / std::sqrt(static_cast<float>(spec.D));
  const auto q = input(*graph, AttentionOperand::kQ, dim, packed, spec.dtype);
  const auto k = input(*graph, AttentionOperand::kK, dim, packed, spec.dtype);
  const auto v = input(*graph, AttentionOperand::kV, dim, packed, spec.dtype);
  if (!backward) {
    auto attributes = fe::graph::SDPA_attributes().set_generate_stats(true).set_attn_scale(scale);
    attributes.set_diagonal_alignment(fe::DiagonalAlignment_t::TOP_LEFT).set_diagonal_band_right_bound(0);
    const auto [out, statistics] = graph->sdpa(q, k, v, attributes);
    output(out, AttentionOperand::kOut, dim, merged, spec.dtype);
    output(statistics, AttentionOperand::kStatistics, rows, rows_stride, DType::F32);
    return graph;
  }
  const auto out = input(*graph, AttentionOperand::kOut, dim, merged, spec.dtype);
  const auto d_out = input(*graph, AttentionOperand::kDOut, dim, merged, spec.dtype);
  const auto statistics = input(*graph, AttentionOperand::kStatistics, rows, rows_stride, DType::F32);
  auto attributes =
      fe::graph::SDPA_backward_attributes().set_attn_scale(scale).set_deterministic_algorithm(deterministic);
  attributes.set_diagonal_alignment(fe::DiagonalAlignment_t::TOP_LEFT).set_diagonal_band_right_bound(0);
  const auto [dq, dk, dv] = graph->sdpa_backward(q, k, v, out, d_out, statistics, attributes);
  output(dq, AttentionOperand::kDQ, dim, packed, spec.dtype);
  output(dk, AttentionOperand::kDK, dim, packed, spec.dtype);
  output(dv, AttentionOperand::kDV, dim, packed, spec.dtype);
  return graph;
}

std::vector<std::int64_t> conv_elements(const Conv2dSpec& spec) {
  return {spec.N * spec.H * spec.W * spec.C, spec.K * spec.R * spec.S * spec.C,
          spec.N * spec.P() * spec.Q() * spec.K};
}

constexpr std::array<const char*, 3> kDirectionNames{"forward", "backward_input", "backward_weight"};

}  // namespace

struct DnnLibrary::Handle {
  tandem::Handle<cudnnHandle_t, destroy_handle> raw;
};

struct DnnLibrary::Problem {
  std::string name;  // everything that a choice depends on, but the GPU and the versions
  std::function<std::shared_ptr<Graph>()> describe;
  bool strict_fp32 = false;
  bool deterministic = false;
  std::optional<std::int64_t> max_workspace;
  std::vector<TuningOperands::Operand> operands;  // by id, from 1; empty: the first plan that builds is taken
};

struct DnnPlan::Built {
  cudnnHandle_t handle;
  std::string problem;
  std::shared_ptr<Graph> graph;
  std::int64_t index;  // of the plan within the graph
};

DnnPlan::DnnPlan(std::unique_ptr<Built> built) : built_(std::move(built)) {}
DnnPlan::~DnnPlan() = default;

ByteCount DnnPlan::workspace_bytes() const {
  std::int64_t bytes = 0;
  TANDEM_FE(built_->problem, built_->graph->get_workspace_size_plan_at_index(built_->index, bytes));
  return ByteCount(bytes);
}

void DnnPlan::run(Stream& stream, std::initializer_list<DnnOperand> operands, void* workspace) const {
  std::unordered_map<std::int64_t, void*> memory;
  for (const auto& operand : operands) memory.emplace(operand.id, operand.memory);
  TANDEM_CUDNN(cudnnSetStream(built_->handle, as_cuda(stream).raw()));
  TANDEM_FE(built_->problem,
            built_->graph->execute_plan_at_index(built_->handle, memory, workspace, built_->index));
}

DnnLibrary::DnnLibrary() : handle_(std::make_unique<Handle>()) {
  cudnnHandle_t raw = nullptr;
  TANDEM_CUDNN(cudnnCreate(&raw));
  handle_->raw = tandem::Handle<cudnnHandle_t, destroy_handle>(raw);
}

DnnLibrary::~DnnLibrary() = default;

std::int64_t DnnLibrary::version() {
  return static_cast<std::int64_t>(cudnnGetVersion());
}

namespace {

// The graph with its candidates, none of them built yet.
std::shared_ptr<Graph> prepare(const auto& problem, cudnnHandle_t handle) {
  auto graph = problem.describe();
  TANDEM_FE(problem.name, graph->validate());
  TANDEM_FE(problem.name, graph->build_operation_graph(handle));
  TANDEM_FE(problem.name, graph->create_execution_plans({fe::HeurMode_t::A, fe::HeurMode_t::FALLBACK}));
  using Note = fe::NumericalNote_t;
  if (problem.deterministic) graph->deselect_numeric_notes({Note::NONDETERMINISTIC});
  if (problem.strict_fp32) {
    graph->deselect_numeric_notes({Note::TENSOR_CORE, Note::DOWN_CONVERT_INPUTS,
                                   Note::REDUCED_PRECISION_REDUCTION, Note::WINOGRAD, Note::WINOGRAD_TILE_4x4,
                                   Note::WINOGRAD_TILE_6x6, Note::WINOGRAD_TILE_13x13});
  }
  if (problem.max_workspace) graph->deselect_workspace_greater_than(*problem.max_workspace);
  return graph;
}

std::string plan_name(const Graph& graph, std::int64_t index) {
  std::string name;
  TANDEM_FE("plan", graph.get_plan_name_at_index(index, name));
  return name;
}

// Builds up to `wanted` candidates in the order of the heuristics and returns which.
std::vector<std::int64_t> build_candidates(Graph& graph, const std::string& problem, std::size_t wanted) {
  std::vector<std::int64_t> built;
  std::string reason = "cuDNN suggests no plan";
  const auto count = graph.get_execution_plan_count();
  for (std::int64_t index = 0; index < count && built.size() < wanted; ++index) {
    auto status = graph.build_plan_at_index(index);
    if (status.is_good()) {
      built.push_back(index);
    } else {
      reason = status.get_message();
    }
  }
  TANDEM_EXPECT(!built.empty(), "{}: none of {} suggested plans can be built: {}", problem, count, reason);
  return built;
}

std::optional<std::int64_t> build_named(Graph& graph, const std::string& name) {
  for (std::int64_t index = 0; index < graph.get_execution_plan_count(); ++index) {
    if (plan_name(graph, index) == name && graph.build_plan_at_index(index).is_good()) return index;
  }
  return std::nullopt;
}

// Times the candidates on random operands and returns the fastest one's name.
std::string tuned_name(CudaContext& context, const auto& problem, cudnnHandle_t handle) {
  auto graph = prepare(problem, handle);
  const bool tune = context.options().autotune && !problem.operands.empty();
  const auto candidates = build_candidates(*graph, problem.name, tune ? kMaxCandidates : 1);
  if (candidates.size() == 1) return plan_name(*graph, candidates.front());
  auto wanted = problem.operands;
  std::int64_t workspace = 0;
  for (const auto index : candidates) {
    std::int64_t bytes = 0;
    TANDEM_FE(problem.name, graph->get_workspace_size_plan_at_index(index, bytes));
    workspace = std::max(workspace, bytes);
  }
  wanted.push_back({.bytes = ByteCount(workspace), .shared = true});
  const auto operands = context.tuner().operands(wanted);
  if (!operands) return plan_name(*graph, candidates.front());
  TANDEM_CUDNN(cudnnSetStream(handle, context.tuner().stream().raw()));
  const auto winner = context.tuner().fastest(candidates.size(), [&](std::size_t candidate, int iteration) {
    std::unordered_map<std::int64_t, void*> memory;
    for (std::size_t i = 0; i < problem.operands.size(); ++i) {
      memory.emplace(static_cast<std::int64_t>(i) + 1, operands->at(i, iteration));
    }
    TANDEM_FE(problem.name,
              graph->execute_plan_at_index(handle, memory, operands->at(problem.operands.size(), iteration),
                                           candidates[candidate]));
  });
  return plan_name(*graph, candidates[winner]);
}

}  // namespace

// A plan is always loaded by name out of a fresh graph, whether the name was cached or found just now: the
// candidates that lost are gone then, with their kernels and workspaces.
std::shared_ptr<const DnnPlan> DnnLibrary::make(CudaContext& context, const Problem& problem) {
  if (auto shared = plans_[problem.name].lock()) return shared;
  const auto handle = handle_->raw.get();
  try {
    auto name = context.plans().find(problem.name);
    auto graph = prepare(problem, handle);
    auto index = name ? build_named(*graph, *name) : std::nullopt;
    if (!index) {  // not cached, or cached under a name that cuDNN knows no longer
      name = tuned_name(context, problem, handle);
      index = build_named(*graph, *name);
      TANDEM_EXPECT(index, "{}: the plan {} was there and is gone", problem.name, *name);
      context.plans().store(problem.name, *name);
    }
    auto plan = std::make_shared<const DnnPlan>(
        std::make_unique<DnnPlan::Built>(DnnPlan::Built{handle, problem.name, graph, *index}));
    plans_[problem.name] = plan;
    return plan;
  } catch (const fe::cudnnException& error) {
    throw Error("cuDNN", "graph", problem.name + ": " + error.what());
  }
}

std::shared_ptr<const DnnPlan> DnnLibrary::conv(CudaContext& context, const Conv2dSpec& spec,
                                                ConvDirection direction, DType weight_gradient) {
  const auto& options = context.options();
  const bool is_weight = direction == ConvDirection::BackwardWeight;
  const auto out = is_weight ? weight_gradient : spec.dtype;
  const bool strict = spec.dtype == DType::F32 && !options.tf32;
  Problem problem{.name = fmt::format("conv {} {}->{} N{} H{} W{} C{} K{} R{} S{} stride{} padding{}{}{}",
                                      kDirectionNames[static_cast<std::size_t>(direction)],
                                      name_of(spec.dtype), name_of(out), spec.N, spec.H, spec.W, spec.C,
                                      spec.K, spec.R, spec.S, spec.stride, spec.padding,
                                      options.deterministic ? " deterministic" : "", strict ? " strict" : ""),
                  .describe = [=] { return describe_conv(spec, direction, weight_gradient); },
                  .strict_fp32 = strict,
                  .deterministic = options.deterministic,
                  .max_workspace = kMaxConvWorkspace};
  for (const auto elements : conv_elements(spec)) {
    problem.operands.push_back({.bytes = bytes_of(ElementCount(elements), spec.dtype), .fill = spec.dtype});
  }
  if (is_weight) {
    auto& dw = problem.operands[ConvOperand::kW - 1];
    dw = {.bytes = bytes_of(ElementCount(conv_elements(spec)[ConvOperand::kW - 1]), out), .fill = out};
  }
  return make(context, problem);
}

std::shared_ptr<const DnnPlan> DnnLibrary::attention(CudaContext& context, const AttentionSpec& spec,
                                                     bool backward) {
  const bool deterministic = context.options().deterministic;
  return make(context,
              {.name = fmt::format("attention {} {} B{} T{} heads{} D{}{}", backward ? "backward" : "forward",
                                   name_of(spec.dtype), spec.B, spec.T, spec.heads, spec.D,
                                   deterministic ? " deterministic" : ""),
               .describe = [=] { return describe_attention(spec, backward, deterministic); },
               .deterministic = deterministic});
}

}  // namespace tandem
