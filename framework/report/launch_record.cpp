#include "report/launch_record.h"

#include <fmt/format.h>

#include "report/atomic_file.h"
#include "report/json_fields.h"

namespace tandem {

template <class Visitor, SameAs<LaunchRecord> T>
void visit_fields(Visitor&& field, T& x) {
  field("title", x.title);
  field("command", x.command);
  field("identity", x.identity);
  field("started", x.started);
  field("state", x.state);
  field("ended", x.ended);
  field("seconds", x.seconds);
  field("exit_status", x.exit_status);
  field("signal", x.signal);
  field("last_words", x.last_words);
  field("clocks_before", x.clocks_before);
  field("clocks_after", x.clocks_after);
}

std::optional<std::string> first_difference(const std::map<std::string, std::string>& there,
                                            const std::map<std::string, std::string>& here) {
  const auto value = [](const std::map<std::string, std::string>& values, const std::string& name) {
    const auto found = values.find(name);
    return found == values.end() ? std::string("nothing") : found->second;
  };
  auto names = there;
  names.insert(here.begin(), here.end());
  for (const auto& [name, ignored] : names)
    if (value(there, name) != value(here, name))
      return fmt::format("{}: {} there, {} now", name, value(there, name), value(here, name));
  return std::nullopt;
}

LaunchRecord launch_record_from_json(std::string_view text, const std::string& file) {
  Json json = parse_json(text, file);
  const JsonPlace top{&json, &file};
  require_schema(top, LaunchRecord::kSchema);
  json.erase("schema");
  LaunchRecord record;
  JsonForm<LaunchRecord>::read(top, record);
  return record;
}

LaunchRecord read_launch_record(const std::filesystem::path& path) {
  return launch_record_from_json(read_file(path), path.string());
}

void write_launch_record(const LaunchRecord& record, const std::filesystem::path& path) {
  Json file = {{"schema", LaunchRecord::kSchema}};
  file.update(JsonForm<LaunchRecord>::write(record));
  write_file_atomically(path, render_json(file));
}

std::string launch_markdown(const LaunchRecord& record) {
  std::string text = fmt::format("# {}\n\n", record.title);
  if (record.state == LaunchRecord::kRunning) {
    text += "This run has not ended, or its launcher was killed.\n\n";
  } else if (record.state == LaunchRecord::kFailed) {
    text += "This run did not finish";
    if (record.exit_status) text += fmt::format(": exit status {}", *record.exit_status);
    if (record.signal) text += fmt::format(", after signal {}", *record.signal);
    text += ".\n\n";
  } else {
    text += "This run finished.\n\n";
  }
  text += fmt::format("- started {}", record.started);
  if (record.seconds) text += fmt::format(", took {:.1f} s", *record.seconds);
  text += fmt::format("\n- `{}`\n", record.command);
  for (const auto& [name, value] : record.identity)
    if (value.find('\n') == std::string::npos) text += fmt::format("- {}: {}\n", name, value);
  if (record.last_words.empty()) return text;
  text += "\nThe end of its log:\n\n```\n";
  for (const auto& line : record.last_words) text += line + '\n';
  return text + "```\n";
}

}  // namespace tandem
