// What is right or wrong about a config as a whole.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "run_config/schema.h"

namespace tandem {

// Who gave each key its value: the key's path -> "file.yaml:12:5 (optim.lr)" or "--set optim.lr". Keys that
// are not here have their defaults.
class Origins {
 public:
  void set(const std::string& path, std::string where) { where_[path] = std::move(where); }
  bool given(std::string_view path) const { return where_.find(path) != where_.end(); }

  // Where to point at for a key; "optim.lr (default)" if nobody gave it.
  std::string where(std::string_view path) const;

 private:
  std::map<std::string, std::string, std::less<>> where_;
};

// Fills in the defaults that depend on other keys. `name` is the default of report.name.
void fill_dependent_defaults(RunConfig& config, const Origins& origins, const std::string& name);

// Throws InputError on the first rule that is broken. REQUIRES: `schema` is bound to the config.
void validate(const ConfigSchema& schema, const Origins& origins);

}  // namespace tandem
