#include "ops/cuda/blas.h"

#include <cublasLt.h>

#include <array>
#include <charconv>
#include <cstring>
#include <utility>
#include <vector>

#include "device/cuda/cuda_stream.h"
#include "device/cuda/handle.h"
#include "ops/cuda/cuda_context.h"

namespace tandem {
namespace {

constexpr int kMaxCandidates = 8;  // the library returns no more, however many are asked for
constexpr std::uint64_t kMaxWorkspace = 32ull << 20;

void check(cublasStatus_t status, const char* expression,
           std::source_location site = std::source_location::current()) {
  if (status != CUBLAS_STATUS_SUCCESS) {
    throw Error("cuBLASLt", expression, cublasLtGetStatusString(status), site);
  }
}
#define TANDEM_CUBLAS(expression) check((expression), #expression)

void destroy_lt(cublasLtHandle_t raw) noexcept {
  static_cast<void>(cublasLtDestroy(raw));
}
void destroy_desc(cublasLtMatmulDesc_t raw) noexcept {
  static_cast<void>(cublasLtMatmulDescDestroy(raw));
}
void destroy_layout(cublasLtMatrixLayout_t raw) noexcept {
  static_cast<void>(cublasLtMatrixLayoutDestroy(raw));
}
void destroy_preference(cublasLtMatmulPreference_t raw) noexcept {
  static_cast<void>(cublasLtMatmulPreferenceDestroy(raw));
}
using LtHandle = Handle<cublasLtHandle_t, destroy_lt>;
using Desc = Handle<cublasLtMatmulDesc_t, destroy_desc>;
using Layout = Handle<cublasLtMatrixLayout_t, destroy_layout>;
using Preference = Handle<cublasLtMatmulPreference_t, destroy_preference>;

cudaDataType_t data_type(DType dtype) {
  switch (dtype) {
    case DType::BF16:
      return CUDA_R_16BF;
    case DType::F16:
      return CUDA_R_16F;
    default:
      return CUDA_R_32F;
  }
}

cublasLtEpilogue_t epilogue_of(MatmulEpilogue epilogue) {
  switch (epilogue) {
    case MatmulEpilogue::Bias:
      return CUBLASLT_EPILOGUE_BIAS;
    case MatmulEpilogue::GeluAuxBias:
      return CUBLASLT_EPILOGUE_GELU_AUX_BIAS;
    case MatmulEpilogue::DGelu:
      return CUBLASLT_EPILOGUE_DGELU;
    default:
      return CUBLASLT_EPILOGUE_DEFAULT;
  }
}

bool has_bias(MatmulEpilogue e) {
  return e == MatmulEpilogue::Bias || e == MatmulEpilogue::GeluAuxBias;
}
bool has_aux(MatmulEpilogue e) {
  return e == MatmulEpilogue::GeluAuxBias || e == MatmulEpilogue::DGelu;
}

template <class T>
void set(const Desc& desc, cublasLtMatmulDescAttributes_t attribute, const T& value) {
  TANDEM_CUBLAS(cublasLtMatmulDescSetAttribute(desc.get(), attribute, &value, sizeof value));
}
template <class T>
void set(const Layout& layout, cublasLtMatrixLayoutAttribute_t attribute, const T& value) {
  TANDEM_CUBLAS(cublasLtMatrixLayoutSetAttribute(layout.get(), attribute, &value, sizeof value));
}
template <class T>
void set(const Preference& preference, cublasLtMatmulPreferenceAttributes_t attribute, const T& value) {
  TANDEM_CUBLAS(cublasLtMatmulPreferenceSetAttribute(preference.get(), attribute, &value, sizeof value));
}

// An algorithm as text: the library allows its bytes to be stored and used again with the same version.
std::string to_text(const cublasLtMatmulAlgo_t& algorithm) {
  std::string text;
  for (const auto word : algorithm.data) text += fmt::format("{:016x}", word);
  return text;
}

std::optional<cublasLtMatmulAlgo_t> from_text(const std::string& text) {
  cublasLtMatmulAlgo_t algorithm{};
  if (text.size() != 16 * std::size(algorithm.data)) return std::nullopt;
  for (std::size_t i = 0; i < std::size(algorithm.data); ++i) {
    std::uint64_t word = 0;
    const char* begin = text.data() + 16 * i;
    const auto [end, failed] = std::from_chars(begin, begin + 16, word, 16);
    if (failed != std::errc() || end != begin + 16) return std::nullopt;
    algorithm.data[i] = word;
  }
  return algorithm;
}

std::string name_of_problem(const MatmulSpec& spec, const CudaBackendOptions& options) {
  constexpr std::array kEpilogues{"plain", "bias", "gelu_aux_bias", "dgelu"};
  return fmt::format(
      "matmul {}{} {} {}->{} m{} n{} k{} ld{},{},{} batch{} align{}{}{}", spec.transpose_a ? 'T' : 'N',
      spec.transpose_b ? 'T' : 'N', kEpilogues[static_cast<std::size_t>(spec.epilogue)], name_of(spec.in),
      name_of(spec.out), spec.m, spec.n, spec.k, spec.lda, spec.ldb, spec.ldd, spec.batch, spec.alignment,
      options.deterministic ? " deterministic" : "", spec.in == DType::F32 && !options.tf32 ? " strict" : "");
}

}  // namespace

struct BlasLibrary::Handle {
  LtHandle raw;
};

struct Matmul::Prepared {
  cublasLtHandle_t handle;
  MatmulSpec spec;
  Desc desc;
  Layout a, b, d;
  cublasLtMatmulAlgo_t algorithm{};
  ByteCount workspace;

  void launch(cudaStream_t stream, const Call& call, const cublasLtMatmulAlgo_t& with,
              ByteCount workspace_size);
};

void Matmul::Prepared::launch(cudaStream_t stream, const Call& call, const cublasLtMatmulAlgo_t& with,
                              ByteCount workspace_size) {
  if (has_bias(spec.epilogue)) set(desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, call.bias);
  if (has_aux(spec.epilogue)) set(desc, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, call.aux);
  const float alpha = 1.0f;
  const float beta = call.accumulate ? 1.0f : 0.0f;
  TANDEM_CUBLAS(cublasLtMatmul(handle, desc.get(), &alpha, call.a, a.get(), call.b, b.get(), &beta, call.d,
                               d.get(), call.d, d.get(), &with, call.workspace,
                               static_cast<std::size_t>(workspace_size.value()), stream));
}

Matmul::Matmul(std::unique_ptr<Prepared> prepared) : prepared_(std::move(prepared)) {}
Matmul::~Matmul() = default;

ByteCount Matmul::workspace_bytes() const {
  return prepared_->workspace;
}

void Matmul::run(Stream& stream, const Call& call) {
  prepared_->launch(as_cuda(stream).raw(), call, prepared_->algorithm, prepared_->workspace);
}

namespace {

Layout make_layout(DType dtype, std::int64_t rows, std::int64_t columns, std::int64_t leading) {
  cublasLtMatrixLayout_t raw = nullptr;
  TANDEM_CUBLAS(cublasLtMatrixLayoutCreate(&raw, data_type(dtype), static_cast<std::uint64_t>(rows),
                                           static_cast<std::uint64_t>(columns),
                                           leading > 0 ? leading : rows));
  return Layout(raw);
}

void set_batch(const Layout& layout, std::int64_t count, std::int64_t stride) {
  set(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<std::int32_t>(count));
  set(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, stride);
}

// Descriptors of everything but the algorithm.
std::unique_ptr<Matmul::Prepared> prepare(cublasLtHandle_t handle, const MatmulSpec& spec, bool tf32) {
  auto prepared = std::make_unique<Matmul::Prepared>();
  prepared->handle = handle;
  prepared->spec = spec;
  const bool fast = spec.in == DType::F32 && tf32;
  cublasLtMatmulDesc_t raw = nullptr;
  TANDEM_CUBLAS(
      cublasLtMatmulDescCreate(&raw, fast ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F, CUDA_R_32F));
  prepared->desc = Desc(raw);
  const auto& desc = prepared->desc;
  set(desc, CUBLASLT_MATMUL_DESC_TRANSA, spec.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(desc, CUBLASLT_MATMUL_DESC_TRANSB, spec.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(desc, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue_of(spec.epilogue));
  // The heuristics judge by these pointers' alignment and do not follow them; calls set the real ones.
  const void* aligned = reinterpret_cast<const void*>(std::uintptr_t{spec.alignment});
  if (has_bias(spec.epilogue)) {
    set(desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, aligned);
    set(desc, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, static_cast<std::int32_t>(data_type(spec.out)));
  }
  if (has_aux(spec.epilogue)) {
    set(desc, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, aligned);
    set(desc, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, spec.m);
  }
  prepared->a =
      make_layout(spec.in, spec.transpose_a ? spec.k : spec.m, spec.transpose_a ? spec.m : spec.k, spec.lda);
  prepared->b =
      make_layout(spec.in, spec.transpose_b ? spec.n : spec.k, spec.transpose_b ? spec.k : spec.n, spec.ldb);
  prepared->d = make_layout(spec.out, spec.m, spec.n, spec.ldd);
  if (spec.batch > 1) {
    set_batch(prepared->a, spec.batch, spec.stride_a);
    set_batch(prepared->b, spec.batch, spec.stride_b);
    set_batch(prepared->d, spec.batch, spec.stride_d);
  }
  return prepared;
}

std::vector<cublasLtMatmulHeuristicResult_t> suggestions(const Matmul::Prepared& prepared,
                                                         bool deterministic) {
  cublasLtMatmulPreference_t raw = nullptr;
  TANDEM_CUBLAS(cublasLtMatmulPreferenceCreate(&raw));
  const Preference preference(raw);
  set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kMaxWorkspace);
  for (const auto which :
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
    set(preference, which, prepared.spec.alignment);
  }
  if (deterministic) {  // partial sums of a split k are then added in one fixed order
    set(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
        static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
  }
  std::vector<cublasLtMatmulHeuristicResult_t> found(kMaxCandidates);
  int count = 0;
  const auto status = cublasLtMatmulAlgoGetHeuristic(prepared.handle, prepared.desc.get(), prepared.a.get(),
                                                     prepared.b.get(), prepared.d.get(), prepared.d.get(),
                                                     preference.get(), kMaxCandidates, found.data(), &count);
  // The library answers "not supported" and "invalid value" for epilogues that it does not do on these
  // extents.
  if (status != CUBLAS_STATUS_SUCCESS) count = 0;
  found.resize(static_cast<std::size_t>(count));
  std::erase_if(found, [](const auto& result) { return result.state != CUBLAS_STATUS_SUCCESS; });
  return found;
}

void use(Matmul::Prepared& prepared, const cublasLtMatmulHeuristicResult_t& choice) {
  prepared.algorithm = choice.algo;
  prepared.workspace = ByteCount(static_cast<std::int64_t>(choice.workspaceSize));
}

// The cached algorithm, if this library can run it.
bool use_cached(Matmul::Prepared& prepared, const std::optional<std::string>& text) {
  const auto algorithm = text ? from_text(*text) : std::nullopt;
  if (!algorithm) return false;
  cublasLtMatmulHeuristicResult_t checked{};
  checked.algo = *algorithm;
  if (cublasLtMatmulAlgoCheck(prepared.handle, prepared.desc.get(), prepared.a.get(), prepared.b.get(),
                              prepared.d.get(), prepared.d.get(), &*algorithm,
                              &checked) != CUBLAS_STATUS_SUCCESS) {
    return false;
  }
  checked.algo = *algorithm;
  use(prepared, checked);
  return true;
}

std::size_t fastest(CudaContext& context, Matmul::Prepared& prepared,
                    const std::vector<cublasLtMatmulHeuristicResult_t>& found) {
  const auto& spec = prepared.spec;
  const auto bytes = [](std::int64_t elements, DType dtype) {
    return bytes_of(ElementCount(elements), dtype);
  };
  std::size_t workspace = 0;
  for (const auto& result : found) workspace = std::max(workspace, result.workspaceSize);
  const auto product = bytes(spec.m * spec.n, spec.out);
  const auto operands = context.tuner().operands(
      {{.bytes = bytes(spec.m * spec.k, spec.in), .fill = spec.in},
       {.bytes = bytes(spec.k * spec.n, spec.in), .fill = spec.in},
       {.bytes = product, .fill = spec.out},
       {.bytes = has_bias(spec.epilogue) ? bytes(spec.m, spec.out) : ByteCount(0), .fill = spec.out},
       {.bytes = has_aux(spec.epilogue) ? product : ByteCount(0), .fill = spec.out},
       {.bytes = ByteCount(static_cast<std::int64_t>(workspace)), .shared = true}});
  if (!operands) return 0;
  return context.tuner().fastest(found.size(), [&](std::size_t candidate, int iteration) {
    prepared.launch(context.tuner().stream().raw(),
                    {.a = operands->at(0, iteration),
                     .b = operands->at(1, iteration),
                     .d = operands->at(2, iteration),
                     .bias = operands->at(3, iteration),
                     .aux = operands->at(4, iteration),
                     .workspace = operands->at(5, iteration)},
                    found[candidate].algo,
                    ByteCount(static_cast<std::int64_t>(found[candidate].workspaceSize)));
  });
}

}  // namespace

BlasLibrary::BlasLibrary() : handle_(std::make_unique<Handle>()) {
  cublasLtHandle_t raw = nullptr;
  TANDEM_CUBLAS(cublasLtCreate(&raw));
  handle_->raw = LtHandle(raw);
}

BlasLibrary::~BlasLibrary() = default;

std::int64_t BlasLibrary::version() {
  return static_cast<std::int64_t>(cublasLtGetVersion());
}

std::unique_ptr<Matmul> BlasLibrary::try_make(CudaContext& context, const MatmulSpec& spec) {
  // cublasLtMatmulDescAttributes_t: the leading dimension of aux must be divisible by 8.
  if (has_aux(spec.epilogue) && spec.m % 8 != 0) return nullptr;
  const auto& options = context.options();
  auto prepared = prepare(handle_->raw.get(), spec, options.tf32);
  const auto problem = name_of_problem(spec, options);
  if (!use_cached(*prepared, context.plans().find(problem))) {
    const auto found = suggestions(*prepared, options.deterministic);
    if (found.empty()) return nullptr;
    const bool tune = options.autotune && spec.tune && spec.batch == 1 && found.size() > 1;
    use(*prepared, found[tune ? fastest(context, *prepared, found) : 0]);
    if (tune) context.plans().store(problem, to_text(prepared->algorithm));
  }
  return std::make_unique<Matmul>(std::move(prepared));
}

std::unique_ptr<Matmul> BlasLibrary::make(CudaContext& context, const MatmulSpec& spec) {
  auto made = try_make(context, spec);
  TANDEM_EXPECT(made != nullptr, "cuBLASLt has no algorithm for {}",
                name_of_problem(spec, context.options()));
  return made;
}

}  // namespace tandem
