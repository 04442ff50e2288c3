// The dry run of a model: collects tensors, parameters and their uses in order.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <vector>

#include "layers/flow.h"
#include "layers/plan.h"
#include "ops/backend.h"
#include "params/parameter.h"

namespace tandem {

// What a parameter needs beside its name, which is the path of the enclosing scopes.
struct ParameterDeclaration {
  std::string name;  // "weight"
  Shape canonical;
  Shape stored;
  Packing packing = Packing::None;
  OptimizerGroup group = OptimizerGroup::Weight;
  Initializer initializer;
};

// Used by one thread, before any step. See layer.h for the order of calls.
class Planner {
 public:
  // `compute`: dtype of activations and of the weights that kernels read.
  Planner(OpBackend& ops, DType compute) : ops_(ops), compute_(compute) {}

  OpBackend& ops() { return ops_; }
  DType compute_dtype() const { return compute_; }

  // Names within the returned object's life are below `name`: scope("layer1"), then scope("0"), gives
  // "layer1.0.…".
  class Scope {
   public:
    ~Scope() { planner_.scopes_.pop_back(); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    friend class Planner;
    explicit Scope(Planner& planner) : planner_(planner) {}
    Planner& planner_;
  };
  [[nodiscard]] Scope scope(std::string name);
  std::string path(const std::string& name) const;
  std::string path() const;  // of the open scopes themselves: "layer1.0"

  // Weights are read in the compute dtype; the group NormAndBias is always fp32.
  ParamId parameter(const ParameterDeclaration& declaration);
  BufferId buffer(const std::string& name, Shape shape, float initial);

  TensorId tensor(const std::string& name, Shape shape, DType dtype);
  TensorId tensor(const std::string& name, Shape shape) { return tensor(name, shape, compute_); }
  TensorId bytes(const std::string& name, ByteCount count);  // opaque memory of an op; may be of no bytes
  TensorId external(const std::string& name, Shape shape, DType dtype);  // memory from outside the arena
  TensorId reshaped(TensorId tensor, Shape shape);                       // the same memory
  const Shape& shape(TensorId tensor) const {
    return plan_.tensors.at(static_cast<std::size_t>(tensor.index)).shape;
  }

  // Announces one op: the tensors that it uses, all of them alive at the same time. Invalid ids are skipped.
  void op(std::initializer_list<TensorUse> uses);
  // Multiply-adds of ops just announced, forward or backward; see Plan::multiply_adds for what counts.
  void multiply_adds(std::int64_t count) { plan_.multiply_adds += count; }
  void gradient(ParamId parameter);  // one write of its gradient, by the op announced last

  std::size_t ops_announced() const { return plan_.ops.size(); }
  // Announces ops [first, end) again, which the open scopes' block announced in its forward pass: they run
  // anew in its backward pass, and what they write need not have lived until then. Their multiply-adds do not
  // count again. Throws Error unless they find the inputs that they found the first time, and spoil nothing
  // that others have left in their outputs.
  void repeat(std::size_t first, std::size_t end);

  int number_dropout() { return dropouts_++; }  // numbers the dropouts of a model
  // External [samples] i64: where each sample stands in the run. One tensor for all that ask; bound in
  // evaluation too.
  TensorId sample_positions(std::int64_t samples);
  TensorId positions() const { return positions_; }  // invalid if nobody asked

  void begin_backward();
  Plan finish();  // assigns memory; the planner is spent

 private:
  int storage_of(const TensorUse& use) const {
    return plan_.tensors.at(static_cast<std::size_t>(use.tensor.index)).storage;
  }
  // By storage: whether ops [first, end) use it, or only whether they change it.
  std::vector<bool> touched(std::size_t first, std::size_t end, bool changed_only) const;

  OpBackend& ops_;
  DType compute_;
  std::vector<std::string> scopes_;
  Plan plan_;
  int dropouts_ = 0;
  TensorId positions_;
};

}  // namespace tandem
