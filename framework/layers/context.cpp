#include "layers/context.h"

namespace tandem {
namespace {

const char* name_of(Access access) {
  switch (access) {
    case Access::Read:
      return "read";
    case Access::Write:
      return "write";
    case Access::Update:
      return "update";
  }
  return "?";
}

}  // namespace

Context::Context(const Plan& plan, const Buffer& arena, ParameterStore& store, GradientSink& gradients,
                 Stream& stream)
    : plan_(plan), store_(store), gradients_(gradients), stream_(stream) {
  for (const auto& tensor : plan.tensors) {
    const auto& storage = plan.storages[static_cast<std::size_t>(tensor.storage)];
    const auto view = [&](const std::optional<ByteCount>& offset) {
      return offset ? arena.view(*offset, tensor.dtype, tensor.shape) : TensorView();
    };
    train_views_.push_back(view(storage.train_offset));
    evaluate_views_.push_back(view(storage.evaluate_offset));
  }
}

void Context::begin(Mode mode, StepPointers step) {
  mode_ = mode;
  step_ = step;
  enter_op(0);
}

void Context::bind_external(TensorId tensor, TensorView memory) {
  const auto storage = plan_.tensors[static_cast<std::size_t>(tensor.index)].storage;
  for (std::size_t i = 0; i < plan_.tensors.size(); ++i) {
    const auto& planned = plan_.tensors[i];
    if (planned.storage != storage) continue;
    TANDEM_EXPECT(memory.dtype() == planned.dtype, "{} takes {}, got {}", planned.name,
                  tandem::name_of(planned.dtype), tandem::name_of(memory.dtype()));
    train_views_[i] = evaluate_views_[i] = memory.reshaped(planned.shape);
  }
}

void Context::enter_op(std::size_t op) {
  op_ = op;
  seen_.assign(op < plan_.ops.size() ? plan_.ops[op].size() : 0, false);
  seen_count_ = 0;
}

TensorView Context::use(TensorId tensor, Access access) {
  if (!tensor.valid()) return {};
  if (op_ >= plan_.ops_in(mode_)) fail(tensor, access);
  const auto& uses = plan_.ops[op_];
  std::size_t which = 0;
  while (which < uses.size() &&
         (seen_[which] || uses[which].tensor != tensor || uses[which].access != access)) {
    ++which;
  }
  if (which == uses.size()) fail(tensor, access);
  seen_[which] = true;
  if (++seen_count_ == uses.size()) enter_op(op_ + 1);

  const auto index = static_cast<std::size_t>(tensor.index);
  const auto& view = mode_ == Mode::Train ? train_views_[index] : evaluate_views_[index];
  TANDEM_EXPECT(!view.empty(), "{} has no memory: it was never bound", plan_.tensors[index].name);
  return view;
}

void Context::fail(TensorId tensor, Access access) const {
  std::string planned = "the end of the pass";
  if (op_ < plan_.ops_in(mode_)) {
    planned = "an op that";
    for (const auto& use : plan_.ops[op_]) {
      planned += fmt::format(" {}s {}", name_of(use.access),
                             plan_.tensors[static_cast<std::size_t>(use.tensor.index)].name);
    }
  }
  fail_expectation("use follows plan",
                   fmt::format("{} of {} where the plan has {}", name_of(access),
                               plan_.tensors[static_cast<std::size_t>(tensor.index)].name, planned),
                   std::source_location::current());
}

void Context::expect_finished() const {
  TANDEM_EXPECT(op_ == plan_.ops_in(mode_), "the pass ended after {} of {} planned ops", op_,
                plan_.ops_in(mode_));
}

}  // namespace tandem
