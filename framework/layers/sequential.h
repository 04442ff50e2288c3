// Layers one behind the other.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "layers/layer.h"

namespace tandem {

// Owns its layers; the parameters of each are named below the name that it was added with.
class Sequential final : public Layer {
 public:
  void add(std::string name, std::unique_ptr<Layer> layer) {
    children_.push_back({std::move(name), std::move(layer)});
  }

  Flow plan_forward(Planner& plan, Flow x) override;
  Flow plan_backward(Planner& plan, Flow dy) override;
  void forward(Context& context) override;
  void backward(Context& context) override;

 private:
  struct Child {
    std::string name;
    std::unique_ptr<Layer> layer;
  };
  std::vector<Child> children_;
};

}  // namespace tandem
