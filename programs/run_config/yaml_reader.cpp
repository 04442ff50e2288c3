#include "run_config/yaml_reader.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <sstream>
#include <utility>

#include "core/error.h"

namespace tandem {
namespace {

constexpr std::size_t kDeepest = 16;  // far beyond any config; keeps hostile nesting off the stack

// Builds the tree. Nodes under construction are on a stack; a finished one moves into its parent.
class TreeBuilder final : public YAML::EventHandler {
 public:
  TreeBuilder(std::string_view text, const std::string& file_name) : text_(text), file_name_(file_name) {}

  YamlNode take_root() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (documents_++ == 0) return;
    refuse({.what = "more than one YAML document",
            .where = place(position(mark)),
            .expected = "one document",
            .found = "a second \"---\"",
            .advice = "keep one of them per file"});
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    begin(YamlNode::Kind::Nothing, mark, "", anchor);
    end();
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    const bool quoted = tag == "!";
    if (expects_key()) return take_key(mark, value, anchor);
    YamlNode& node = begin(YamlNode::Kind::Scalar, mark, quoted ? "" : tag, anchor);
    node.text = value;
    node.quoted = quoted;
    end();
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    begin(YamlNode::Kind::List, mark, tag, anchor);
  }
  void OnSequenceEnd() override { end(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    begin(YamlNode::Kind::Map, mark, tag, anchor);
  }
  void OnMapEnd() override { end(); }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    refuse_reference(mark, "an alias (*name)");
  }

 private:
  struct Level {
    YamlNode node;
    YamlEntry entry;  // Map: the entry whose value comes next
    bool has_key = false;
  };

  TextPosition position(const YAML::Mark& mark) const {
    return mark.is_null() ? TextPosition{} : position_of(text_, static_cast<std::size_t>(mark.pos));
  }

  // "model.blocks": the keys that lead to the innermost open node.
  std::string path() const {
    std::string text;
    for (const Level& level : levels_) {
      if (level.has_key) text += (text.empty() ? "" : ".") + level.entry.key;
    }
    return text;
  }

  std::string place(TextPosition at) const { return place_text(file_name_, at, path()); }

  [[noreturn]] static void refuse(InputProblem problem) { throw InputError(std::move(problem)); }

  [[noreturn]] void refuse_reference(const YAML::Mark& mark, const char* found) const {
    refuse({.what = "anchors, aliases and merge keys are not accepted",
            .where = place(position(mark)),
            .expected = "values written out",
            .found = found,
            .advice = "write the value where it is used"});
  }

  bool expects_key() const {
    return !levels_.empty() && levels_.back().node.kind == YamlNode::Kind::Map && !levels_.back().has_key;
  }

  YamlNode& begin(YamlNode::Kind kind, const YAML::Mark& mark, const std::string& tag,
                  YAML::anchor_t anchor) {
    if (anchor != 0) refuse_reference(mark, "an anchor (&name)");
    if (expects_key()) {
      refuse(
          {.what = "a key that is not a name",
           .where = place(position(mark)),
           .expected = "name: value",
           .found = kind == YamlNode::Kind::Nothing ? "nothing before the colon" : "a list or a map as key",
           .advice = ""});
    }
    if (!tag.empty() && tag != "?") {
      refuse({.what = "YAML tags are not accepted",
              .where = place(position(mark)),
              .expected = "a value without a tag",
              .found = tag,
              .advice = "remove the tag: every key has one type"});
    }
    if (levels_.size() == kDeepest) {
      refuse({.what = "too many levels",
              .where = place_text(file_name_, position(mark)),
              .expected = fmt::format("at most {} levels", kDeepest),
              .found = "more",
              .advice = ""});
    }
    // The mark of a missing value is where the next token is, maybe lines below: its key is the better place.
    const bool points_away = kind == YamlNode::Kind::Nothing && !levels_.empty() && levels_.back().has_key;
    Level level;
    level.node.kind = kind;
    level.node.at = points_away ? levels_.back().entry.key_at : position(mark);
    levels_.push_back(std::move(level));
    return levels_.back().node;
  }

  void end() {
    YamlNode node = std::move(levels_.back().node);
    levels_.pop_back();
    if (levels_.empty()) {
      root_ = std::move(node);
      return;
    }
    Level& parent = levels_.back();
    if (parent.node.kind == YamlNode::Kind::List) {
      parent.node.items.push_back(std::move(node));
      return;
    }
    parent.entry.value = std::move(node);
    parent.node.entries.push_back(std::exchange(parent.entry, YamlEntry{}));
    parent.has_key = false;
  }

  void take_key(const YAML::Mark& mark, const std::string& key, YAML::anchor_t anchor) {
    if (anchor != 0) refuse_reference(mark, "an anchor (&name)");
    if (key == "<<") refuse_reference(mark, "a merge key (<<)");
    if (!is_printable_line(key)) {
      refuse({.what = "a key that is not a name",
              .where = place(position(mark)),
              .expected = "name: value",
              .found = "a control character",
              .advice = ""});
    }
    Level& level = levels_.back();
    level.entry.key = key;
    level.entry.key_at = position(mark);
    level.has_key = true;
    const auto same = std::find_if(level.node.entries.begin(), level.node.entries.end(),
                                   [&](const YamlEntry& e) { return e.key == key; });
    if (same == level.node.entries.end()) return;
    refuse({.what = fmt::format("duplicate key \"{}\"", key),
            .where = place(level.entry.key_at),
            .expected = "each key once",
            .found = fmt::format("the same key at line {}", same->key_at.line),
            .advice = "delete one of the two"});
  }

  std::string_view text_;
  const std::string& file_name_;
  std::vector<Level> levels_;
  YamlNode root_;
  int documents_ = 0;
};

}  // namespace

YamlNode read_yaml(std::string_view bytes, const std::string& file_name) {
  std::string text = clean_text(bytes, file_name);
  // yaml-cpp notices a quote that is never closed only if the text does not end with a line end: with one,
  // the rest of the file would silently become part of the value.
  text.erase(text.find_last_not_of(" \t\n") + 1);
  TreeBuilder builder(text, file_name);
  try {
    std::istringstream stream(text);
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& error) {
    const TextPosition at =
        error.mark.is_null() ? TextPosition{} : position_of(text, static_cast<std::size_t>(error.mark.pos));
    throw InputError({.what = "this is not YAML",
                      .where = place_text(file_name, at),
                      .expected = "lines of \"key: value\", sections indented by spaces",
                      .found = error.msg,
                      .advice = ""});
  }
  return builder.take_root();
}

}  // namespace tandem
