#include "report/report_file.h"

#include "report/json_fields.h"

namespace tandem {

std::string schema_of(std::string_view text, const std::string& file) {
  const Json json = parse_json(text, file);
  const JsonPlace top{&json, &file};
  if (!json.is_object()) top.fail("A file holds something else than expected.", "an object");
  std::string schema;
  JsonForm<std::string>::read(top.member("schema"), schema);
  return schema;
}

}  // namespace tandem
