#include "golden/golden_file.h"

#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

namespace tandem {
namespace {

constexpr std::string_view kMagic = "TANDEMG1";

DType dtype_named(const std::string& name) {
  for (const auto dtype : {DType::F32, DType::I32, DType::U8}) {
    if (name_of(dtype) == name) return dtype;
  }
  fail_expectation("dtype", "no fixture has dtype " + name, std::source_location::current());
}

Shape shape_of(const std::vector<std::int64_t>& extents) {
  switch (extents.size()) {
    case 1:
      return {extents[0]};
    case 2:
      return {extents[0], extents[1]};
    case 4:
      return {extents[0], extents[1], extents[2], extents[3]};
    default:
      fail_expectation("rank", "fixtures have rank 1, 2 or 4", std::source_location::current());
  }
}

}  // namespace

GoldenFile::GoldenFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  constexpr std::size_t kHeaderAt = 16;
  TANDEM_EXPECT(bytes.size() > kHeaderAt && bytes.starts_with(kMagic), "{} is no fixture", path);
  std::int64_t header_bytes = 0;
  std::memcpy(&header_bytes, bytes.data() + kMagic.size(), sizeof header_bytes);
  const auto data_at = kHeaderAt + static_cast<std::size_t>(header_bytes);
  TANDEM_EXPECT(header_bytes >= 0 && data_at <= bytes.size(), "{} ends within its header", path);
  const auto header = nlohmann::json::parse(bytes.substr(kHeaderAt, data_at - kHeaderAt));
  for (const auto& [name, entry] : header.at("tensors").items()) {
    HostTensor tensor(shape_of(entry.at("shape")), dtype_named(entry.at("dtype")));
    const auto begin = data_at + entry.at("offset").get<std::size_t>();
    const auto length = static_cast<std::size_t>(tensor.view().bytes().value());
    TANDEM_EXPECT(begin + length <= bytes.size(), "{} ends within {}", path, name);
    std::memcpy(tensor.view().raw(), bytes.data() + begin, length);
    tensors_.emplace(name, std::move(tensor));
  }
  numbers_ = header.at("numbers").get<std::map<std::string, double>>();
}

const HostTensor& GoldenFile::tensor(const std::string& name) const {
  const auto found = tensors_.find(name);
  TANDEM_EXPECT(found != tensors_.end(), "the fixture has no tensor {}", name);
  return found->second;
}

float GoldenFile::number(const std::string& name) const {
  const auto found = numbers_.find(name);
  TANDEM_EXPECT(found != numbers_.end(), "the fixture has no number {}", name);
  return static_cast<float>(found->second);
}

}  // namespace tandem
