#include "params/parameter_store.h"

#include <algorithm>
#include <span>
#include <utility>

#include "params/initializer.h"

namespace tandem {
namespace {

bool has_micro_sums(const ParameterStoreOptions& options) {
  return options.micro_gradient_sums && options.gradient != DType::F32;
}

ElementCount elements_of(const BufferSpec& buffer) {
  return buffer.shape.elements().rounded_up(ParameterLayout::kTensorAlignment);
}

}  // namespace

ParameterMemory parameter_memory(const ParameterLayout& layout, const std::vector<BufferSpec>& buffers,
                                 const ParameterStoreOptions& options) {
  const auto total = layout.total();
  ParameterMemory memory{.weights = bytes_of(total, DType::F32),
                         .gradients = bytes_of(total, options.gradient),
                         .optimizer = bytes_of(total, DType::F32) * options.optimizer_states};
  if (options.working != DType::F32) memory.weights += bytes_of(total, options.working);
  if (has_micro_sums(options)) memory.gradients += bytes_of(total, DType::F32);
  for (const auto& buffer : buffers) memory.weights += bytes_of(elements_of(buffer), DType::F32);
  return memory;
}

ParameterStore::ParameterStore(Device& device, ParameterLayout layout, std::vector<BufferSpec> buffers,
                               const ParameterStoreOptions& options)
    : device_(&device), layout_(std::move(layout)), buffer_specs_(std::move(buffers)), options_(options) {
  auto& memory = device.memory();
  auto& gradient_memory = options.gradient_allocator != nullptr ? *options.gradient_allocator : memory;
  const auto total = layout_.total();
  master_ = Buffer(memory, bytes_of(total, DType::F32));
  if (options.working != DType::F32) working_ = Buffer(memory, bytes_of(total, options.working));
  gradient_ = Buffer(gradient_memory, bytes_of(total, options.gradient));
  if (has_micro_sums(options)) micro_sum_ = Buffer(memory, bytes_of(total, DType::F32));
  for (int i = 0; i < options.optimizer_states; ++i)
    states_.emplace_back(memory, bytes_of(total, DType::F32));
  for (const auto& spec : buffer_specs_) {
    buffer_offsets_.push_back(buffer_total_);
    buffer_total_ += elements_of(spec);
  }
  buffers_ = Buffer(memory, bytes_of(buffer_total_, DType::F32));
}

bool ParameterStore::has_working_copy(ParamId id) const {
  return options_.working != DType::F32 && layout_.spec(id).compute != DType::F32;
}

TensorView ParameterStore::at(const Buffer& array, DType dtype, ParamId id) const {
  return array.view(bytes_of(layout_.range(id).begin, dtype), dtype, layout_.spec(id).stored);
}

TensorView ParameterStore::part(const Buffer& array, DType dtype, FlatRange range) {
  return array.view(bytes_of(range.begin, dtype), dtype, {range.elements().value()});
}

TensorView ParameterStore::master(ParamId id) const {
  return at(master_, DType::F32, id);
}

TensorView ParameterStore::weight(ParamId id) const {
  return has_working_copy(id) ? at(working_, options_.working, id) : master(id);
}

TensorView ParameterStore::gradient(ParamId id) const {
  return at(gradient_, options_.gradient, id);
}

TensorView ParameterStore::micro_sum(ParamId id) const {
  return micro_sum_.data() != nullptr ? at(micro_sum_, DType::F32, id) : gradient(id);
}

TensorView ParameterStore::buffer(BufferId id) const {
  const auto index = static_cast<std::size_t>(id.index);
  return buffers_.view(bytes_of(buffer_offsets_[index], DType::F32), DType::F32, buffer_specs_[index].shape);
}

TensorView ParameterStore::masters(FlatRange range) const {
  return part(master_, DType::F32, range);
}

TensorView ParameterStore::working(FlatRange range) const {
  return working_.data() != nullptr ? part(working_, options_.working, range) : TensorView();
}

TensorView ParameterStore::gradients(FlatRange range) const {
  return part(gradient_, options_.gradient, range);
}

TensorView ParameterStore::optimizer_state(int which, FlatRange range) const {
  return part(states_[static_cast<std::size_t>(which)], DType::F32, range);
}

TensorView ParameterStore::all_buffers() const {
  return buffers_.data() != nullptr ? buffers_.view(ByteCount(0), DType::F32, {buffer_total_.value()})
                                    : TensorView();
}

ByteCount ParameterStore::bytes() const {
  auto sum = master_.bytes() + working_.bytes() + gradient_.bytes() + micro_sum_.bytes() + buffers_.bytes();
  for (const auto& state : states_) sum += state.bytes();
  return sum;
}

void ParameterStore::initialize(std::uint64_t seed, Stream& stream) {
  for (const auto* array : {&master_, &working_, &gradient_, &micro_sum_, &buffers_}) {
    if (array->data() != nullptr) stream.zero(array->data(), array->bytes());
  }
  for (const auto& state : states_) stream.zero(state.data(), state.bytes());

  // One staging buffer as large as the largest tensor; each copy is finished before it is filled again.
  ElementCount largest(1);
  for (const auto id : layout_.ready_order()) largest = std::max(largest, layout_.spec(id).stored.elements());
  for (const auto& spec : buffer_specs_) largest = std::max(largest, spec.shape.elements());
  const Buffer staging(device_->pinned_memory(), bytes_of(largest, DType::F32));
  const auto upload = [&](TensorView to) {
    stream.copy(to.raw(), staging.data(), to.bytes());
    stream.synchronize();
  };
  const auto staged = [&](const Shape& shape) {
    return std::span(static_cast<float*>(staging.data()), static_cast<std::size_t>(shape.elements().value()));
  };
  for (const auto id : layout_.ready_order()) {
    const auto& spec = layout_.spec(id);
    write_initial_values(spec, id, seed, staged(spec.stored));
    upload(master(id));
  }
  for (int i = 0; i < static_cast<int>(buffer_specs_.size()); ++i) {
    const auto& spec = buffer_specs_[static_cast<std::size_t>(i)];
    std::ranges::fill(staged(spec.shape), spec.initial);
    upload(buffer(BufferId{i}));
  }
}

}  // namespace tandem
