// What a build without CUDA says.
#include "core/error.h"
#include "trainer/cuda_setup.h"

namespace tandem {

std::string why_no_gpu() {
  return "this program was built without CUDA";
}

int visible_gpus() {
  return 0;
}

PeerPath gpu_peer_path() {
  return PeerPath::Unknown;
}

ComputeDevice make_cuda_compute_device(const RunConfig&, const RankEnvironment&, Comm&, StartupClock&) {
  throw Error("tandem", "CUDA is built in", why_no_gpu());
}

std::map<std::string, std::string> cuda_versions() {
  return {};
}

}  // namespace tandem
