// See ranks/failing_training.h; on ranks of GPUs (gpu_ranks.h).
#include "cuda/gpu_ranks.h"
#include "ops/cuda/cuda_backend.h"
#include "ranks/failing_training.h"

namespace tandem {
namespace {

FailingDevice on_gpu(Comm& comm) {
  auto device = device_of_gpu_rank(comm.ranks().rank().value, gpu_ranks_can_be_captured());
  auto communicator = join_gpu_ranks(*device, comm);
  auto ops = make_cuda_backend(*device, {.autotune = false});
  return {.on = {std::move(device), std::move(ops)}, .communicator = std::move(communicator)};
}

}  // namespace
}  // namespace tandem

int main(int argc, char** argv) {
  tandem::failing_training_main(argc, argv, tandem::on_gpu);
}
