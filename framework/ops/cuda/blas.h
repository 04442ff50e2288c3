// Matrix products through cuBLASLt.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/tensor_view.h"
#include "device/stream.h"

namespace tandem {

class CudaContext;

// What happens to a product before it is stored.
enum class MatmulEpilogue {
  None,
  Bias,         // + bias, one number per row of D
  GeluAuxBias,  // z = product + bias goes to aux, gelu(z) to D
  DGelu,        // product * gelu'(aux) goes to D
};

// D [m, n] = op(A) [m, k] op(B) [k, n], all column-major as the library has it: a row-major [rows, columns]
// is a column-major [columns, rows]. Leading dimensions of 0 mean dense. `out` is F32 or `in`.
struct MatmulSpec {
  std::int64_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;
  DType in = DType::F32, out = DType::F32;
  MatmulEpilogue epilogue = MatmulEpilogue::None;
  std::int64_t lda = 0, ldb = 0, ldd = 0;
  std::int64_t batch = 1;
  std::int64_t stride_a = 0, stride_b = 0, stride_d = 0;  // elements from one of the batch to the next
  std::uint32_t alignment = 256;                          // bytes, of all operands
  bool tune = true;
};

// One product with its algorithm chosen. Needs one call at a time.
class Matmul {
 public:
  struct Call {
    const void* a = nullptr;
    const void* b = nullptr;
    void* d = nullptr;
    const void* bias = nullptr;  // of `out`'s dtype
    void* aux = nullptr;         // [m, n] of `out`'s dtype
    bool accumulate = false;     // D += instead of D =
    void* workspace = nullptr;
  };

  struct Prepared;  // the library's descriptors and the algorithm
  explicit Matmul(std::unique_ptr<Prepared> prepared);
  ~Matmul();

  ByteCount workspace_bytes() const;
  void run(Stream& stream, const Call& call);  // enqueues

 private:
  std::unique_ptr<Prepared> prepared_;
};

// Owns the cuBLASLt handle.
class BlasLibrary {
 public:
  BlasLibrary();
  ~BlasLibrary();
  static std::int64_t version();

  // Picks the fastest of the library's suggestions and remembers it in the plan cache. Null where the library
  // has no algorithm (an epilogue on extents that it does not do): the caller composes the work otherwise.
  std::unique_ptr<Matmul> try_make(CudaContext& context, const MatmulSpec& spec);
  std::unique_ptr<Matmul> make(CudaContext& context, const MatmulSpec& spec);  // throws Error instead

  struct Handle;

 private:
  std::unique_ptr<Handle> handle_;
};

}  // namespace tandem
