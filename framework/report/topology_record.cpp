#include "report/topology_record.h"

#include "report/topology_fields.h"

namespace tandem {

std::string to_json(const HostTopologyRecord& host) {
  return render_json(JsonForm<HostTopologyRecord>::write(host));
}

HostTopologyRecord host_topology_from_json(std::string_view text, const std::string& file) {
  const Json json = parse_json(text, file);
  HostTopologyRecord host;
  JsonForm<HostTopologyRecord>::read({&json, &file}, host);
  return host;
}

}  // namespace tandem
