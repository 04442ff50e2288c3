// The defaults that depend on another key. schema_*.cpp tells them to the user as default_note.
#include "run_config/validate.h"

namespace tandem {
namespace {

void fill_model(ModelConfig& m, const DataConfig& data, const Origins& origins) {
  if (!m.is_gpt()) return;
  if (!origins.given("model.context")) {
    const bool gpt3 = m.name == ModelConfig::Name::Gpt3_1_3B;
    m.context = m.name == ModelConfig::Name::Gpt ? 128 : gpt3 ? 2048 : 1024;
  }
  if (!origins.given("model.vocab")) {
    constexpr int kBytes = 256;
    constexpr int kGpt2Tokens = 50257;  // the byte-pair encoding of GPT-2
    m.vocab = data.kind == DataConfig::Kind::Text ? kBytes : kGpt2Tokens;
  }
}

void fill_data(DataConfig& d, const ModelConfig& model, const Origins& origins) {
  if (model.is_gpt() && !origins.given("data.kind")) d.kind = DataConfig::Kind::Text;
  if (d.is_synthetic()) {
    if (!origins.given("data.limit")) d.limit = 65536;
    if (!origins.given("data.eval_limit")) d.eval_limit = 4096;
  } else if (!origins.given("data.path") && d.kind == DataConfig::Kind::Text) {
    d.path = "/usr/share/common-licenses";  // on every Debian and Ubuntu machine
  } else if (!origins.given("data.path") && d.kind != DataConfig::Kind::FashionMnist) {
    d.path.clear();
  }
}

void fill_optim(OptimConfig& o, const ModelConfig& model, const Origins& origins) {
  if (model.is_gpt() && !origins.given("optim.name")) o.name = OptimConfig::Name::AdamW;
  if (o.name != OptimConfig::Name::AdamW) return;
  if (!origins.given("optim.lr")) o.lr = 1e-3;
  if (!origins.given("optim.weight_decay")) o.weight_decay = 0.1;
}

void fill_comm(CommConfig& c, const Origins& origins) {
  if (c.naive) {
    if (!origins.given("comm.grouping")) c.grouping = CommConfig::Grouping::PerTensor;
    if (!origins.given("comm.schedule")) c.schedule = CommConfig::Schedule::After;
  }
}

}  // namespace

void fill_dependent_defaults(RunConfig& config, const Origins& origins, const std::string& name) {
  fill_data(config.data, config.model, origins);
  fill_model(config.model, config.data, origins);
  fill_optim(config.optim, config.model, origins);
  fill_comm(config.comm, origins);
  const bool batch_decides = origins.given("train.global_batch") && config.train.global_batch > 0;
  if (batch_decides && !origins.given("train.accumulation")) config.train.accumulation = 0;
  if (!origins.given("report.name")) config.report.name = name;
}

}  // namespace tandem
