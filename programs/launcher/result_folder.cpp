#include "launcher/result_folder.h"

#include <chrono>
#include <system_error>

#include "core/error.h"
#include "report/run_record.h"

namespace tandem {

void make_result_folder(const std::filesystem::path& folder) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (!failed) return;
  throw InputError({.what = "A folder for results cannot be made.",
                    .where = folder.string(),
                    .expected = "a folder that may be written to",
                    .found = failed.message(),
                    .advice = "choose another folder with --out"});
}

std::string named_by_time(const std::string& name) {
  std::string time = utc_timestamp(std::chrono::system_clock::now());
  std::erase_if(time, [](char c) { return c == '-' || c == ':'; });
  return name + '-' + time;
}

}  // namespace tandem
