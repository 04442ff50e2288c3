// How fast the CPU's convolutions and linear layers are, beside Eigen's matrix product of the same m, n, k.
//
// Every iteration runs the op and the plain product in turn on the stream's worker, so that both meet the
// same clock and the same caches. Time is that thread's CPU time: neither ever waits, and what else runs on
// the machine counts for neither. Columns: GFLOPs of the op, Eigen's, and their ratio (above 1: the op is
// faster), each from the median; the Time column is the op's.
//   ./build/benchmarks/ops/ops_bench
#include <benchmark/benchmark.h>

#include <Eigen/Core>
#include <algorithm>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

#include "device/cpu/cpu_stream.h"
#include "ops/cpu/cpu_ops.h"

namespace tandem {
namespace {

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// fp32 memory that the benchmark owns, and a view of it.
class Memory {
 public:
  explicit Memory(const Shape& shape) : shape_(shape), values_(Eigen::ArrayXf::Random(elements())) {}
  explicit Memory(ByteCount bytes) : Memory(Shape{bytes.value() / 4 + 1}) {}
  TensorView view() { return TensorView(values_.data(), DType::F32, shape_); }

 private:
  std::int64_t elements() const { return shape_.elements().value(); }
  Shape shape_;
  Eigen::ArrayXf values_;
};

// The product that an op stands for: [m, k] times [k, n].
struct ProductSize {
  std::int64_t m, n, k;
};

double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

void compare(benchmark::State& state, CpuStream& stream, const std::function<void()>& enqueue_op,
             ProductSize size) {
  const Matrix a = Matrix::Random(size.m, size.k);
  const Matrix b = Matrix::Random(size.k, size.n);
  Matrix c(size.m, size.n);
  std::vector<double> op_seconds;
  std::vector<double> eigen_seconds;
  for (auto iteration : state) {
    double times[3] = {};
    stream.enqueue([&] { times[0] = thread_seconds(); });
    enqueue_op();
    stream.enqueue([&] {
      times[1] = thread_seconds();
      c.noalias() = a * b;
      benchmark::DoNotOptimize(c.data());
      times[2] = thread_seconds();
    });
    stream.synchronize();
    op_seconds.push_back(times[1] - times[0]);
    eigen_seconds.push_back(times[2] - times[1]);
    state.SetIterationTime(op_seconds.back());
  }
  const double flops =
      2e-9 * static_cast<double>(size.m) * static_cast<double>(size.n) * static_cast<double>(size.k);
  state.counters["GFLOPs"] = flops / median(op_seconds);
  state.counters["Eigen"] = flops / median(eigen_seconds);
  state.counters["ratio"] = median(eigen_seconds) / median(op_seconds);
}

enum class Pass { Forward, Weight, Input };
constexpr Pass kPasses[] = {Pass::Forward, Pass::Weight, Pass::Input};
constexpr const char* kPassNames[] = {"forward", "weight", "input"};

void run_conv2d(benchmark::State& state, const Conv2dSpec& s, Pass pass) {
  const auto op = make_cpu_conv2d(s);
  Memory x(Shape{s.N, s.H, s.W, s.C});
  Memory w(Shape{s.K, s.R, s.S, s.C});
  Memory y(Shape{s.N, s.P(), s.Q(), s.K});
  Memory workspace(op->workspace_bytes());
  const std::int64_t positions = s.N * s.P() * s.Q();
  const std::int64_t taps = s.R * s.S * s.C;
  CpuStream stream;
  const auto enqueue = [&] {
    switch (pass) {
      case Pass::Forward:
        return op->forward(stream, x.view(), w.view(), y.view(), workspace.view());
      case Pass::Weight:
        return op->backward_weight(stream, x.view(), y.view(), {w.view(), GradMode::Overwrite},
                                   workspace.view());
      case Pass::Input:
        return op->backward_input(stream, y.view(), w.view(), x.view(), workspace.view());
    }
  };
  const ProductSize sizes[] = {{positions, s.K, taps}, {s.K, taps, positions}, {positions, taps, s.K}};
  compare(state, stream, enqueue, sizes[static_cast<int>(pass)]);
}

void run_linear(benchmark::State& state, const LinearSpec& s, Pass pass) {
  const auto op = make_cpu_linear(s);
  Memory x(Shape{s.rows, s.in});
  Memory w(Shape{s.out, s.in});
  Memory bias(Shape{s.out});
  Memory y(Shape{s.rows, s.out});
  Memory workspace(op->workspace_bytes());
  CpuStream stream;
  const auto enqueue = [&] {
    switch (pass) {
      case Pass::Forward:
        return op->forward(stream, {x.view(), w.view(), bias.view(), y.view(), {}, workspace.view()});
      case Pass::Weight:
        return op->backward_weight(stream, x.view(), y.view(), {w.view(), GradMode::Overwrite},
                                   workspace.view());
      case Pass::Input:
        return op->backward_input(stream, y.view(), w.view(), x.view(), {}, workspace.view());
    }
  };
  const ProductSize sizes[] = {{s.rows, s.out, s.in}, {s.out, s.in, s.rows}, {s.rows, s.in, s.out}};
  compare(state, stream, enqueue, sizes[static_cast<int>(pass)]);
}

void add_conv2d(const std::string& shape, const Conv2dSpec& spec) {
  for (const Pass pass : kPasses) {
    if (pass == Pass::Input && spec.C == 1) continue;  // nobody asks for the gradient of the data
    const auto name = "conv2d/" + shape + "/" + kPassNames[static_cast<int>(pass)];
    benchmark::RegisterBenchmark(name.c_str(), [spec, pass](auto& state) { run_conv2d(state, spec, pass); })
        ->UseManualTime()
        ->Unit(benchmark::kMillisecond);
  }
}

void add_linear(const std::string& shape, LinearSpec spec) {
  spec.tail = LinearTail::Bias;
  for (const Pass pass : kPasses) {
    const auto name = "linear/" + shape + "/" + kPassNames[static_cast<int>(pass)];
    benchmark::RegisterBenchmark(name.c_str(), [spec, pass](auto& state) { run_linear(state, spec, pass); })
        ->UseManualTime()
        ->Unit(benchmark::kMillisecond);
  }
}

Conv2dSpec filter3(std::int64_t extent, std::int64_t channels, std::int64_t filters, std::int64_t stride) {
  return {.N = 64,
          .H = extent,
          .W = extent,
          .C = channels,
          .K = filters,
          .R = 3,
          .S = 3,
          .stride = stride,
          .padding = 1};
}

// The layers of a small ResNet on 28 x 28 images, 64 at a time, and of a small GPT, 1,024 tokens at a time.
const bool kRegistered = [] {
  add_conv2d("28x28_1_to_16", filter3(28, 1, 16, 1));
  add_conv2d("28x28_16_to_16", filter3(28, 16, 16, 1));
  add_conv2d("28x28_16_to_32_stride2", filter3(28, 16, 32, 2));
  add_conv2d("28x28_16_to_32_1x1_stride2",
             {.N = 64, .H = 28, .W = 28, .C = 16, .K = 32, .R = 1, .S = 1, .stride = 2});
  add_conv2d("14x14_32_to_32", filter3(14, 32, 32, 1));
  add_conv2d("14x14_32_to_64_stride2", filter3(14, 32, 64, 2));
  add_conv2d("14x14_64_to_128_1x1", {.N = 64, .H = 14, .W = 14, .C = 64, .K = 128});
  add_conv2d("7x7_64_to_64", filter3(7, 64, 64, 1));
  add_conv2d("7x7_128_to_128", filter3(7, 128, 128, 1));
  add_linear("128_to_384", {.rows = 1024, .in = 128, .out = 384});
  add_linear("128_to_512", {.rows = 1024, .in = 128, .out = 512});
  add_linear("512_to_128", {.rows = 1024, .in = 512, .out = 128});
  add_linear("128_to_256", {.rows = 1024, .in = 128, .out = 256});
  return true;
}();

}  // namespace
}  // namespace tandem
