// Rules that hold for every key of the table, so that a new key is tested by being there.
#include "run_config/schema.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "parse_error.h"
#include "run_config/value.h"

namespace tandem {
namespace {

// Overrides that make a key mean something: the first word of its deciding key that does.
Overrides context_of(const ConfigKey& key) {
  Overrides overrides;
  if (key.applies == nullptr) return overrides;
  overrides.push_back(key.decided_by + "=" + words_it_applies_to(key).front());
  return overrides;
}

std::vector<std::string> values_out_of_range(const ConfigKey& key) {
  std::vector<std::string> values;
  if (const auto* integer = std::get_if<IntegerType>(&key.type)) {
    values.push_back(std::to_string(integer->least - 1));
    if (integer->most < std::numeric_limits<std::int64_t>::max())
      values.push_back(std::to_string(integer->most + 1));
  } else if (const auto* number = std::get_if<NumberType>(&key.type)) {
    const double infinity = std::numeric_limits<double>::infinity();
    values.push_back(
        fmt::format("{}", number->above_least ? number->least : std::nextafter(number->least, -infinity)));
    values.push_back(
        fmt::format("{}", number->below_most ? number->most : std::nextafter(number->most, infinity)));
  } else if (const auto* list = std::get_if<IntegerListType>(&key.type)) {
    std::string longest = "[1";
    for (int i = 0; i < list->longest; ++i) longest += ",1";
    values.push_back(longest + "]");
    if (list->fewest > 0) values.push_back("[]");
    std::string rest;
    for (int i = 1; i < list->fewest; ++i) rest += ",1";
    values.push_back(fmt::format("[{}{}]", list->least - 1, rest));
    values.push_back(fmt::format("[{}{}]", std::int64_t{list->most} + 1, rest));
  } else if (std::holds_alternative<ChoiceType>(key.type)) {
    values.push_back("no_such_word");
  } else if (std::holds_alternative<FlagType>(key.type)) {
    values = {"yes", "no", "on", "off", "True", "FALSE", "1", "0", "\"true\""};
  }
  return values;
}

TEST(Schema, EveryKeyIsComplete) {
  RunConfig config;
  const ConfigSchema schema(config);
  std::set<std::string> paths;
  for (const ConfigKey& key : schema.keys()) {
    EXPECT_TRUE(paths.insert(key.path).second) << key.path << " is there twice";
    EXPECT_TRUE(schema.is_section(split_path(key.path).first)) << key.path;
    EXPECT_FALSE(schema.is_section(key.path)) << key.path;
    EXPECT_TRUE(key.help.ends_with('.')) << key.path;
    EXPECT_EQ(key.applies == nullptr, key.decided_by.empty()) << key.path;
    EXPECT_EQ(key.applies == nullptr, words_it_applies_to(key).empty()) << key.path;
  }
}

TEST(Schema, EveryDefaultIsInItsRange) {
  RunConfig config;
  const ConfigSchema schema(config);
  for (const ConfigKey& key : schema.keys()) EXPECT_NO_THROW(check_range(key, "default")) << key.path;
  EXPECT_NO_THROW(validate(config));
}

TEST(Schema, EveryKeyRefusesWhatIsOutOfRange) {
  RunConfig config;
  const ConfigSchema schema(config);
  for (const ConfigKey& key : schema.keys()) {
    for (const std::string& value : values_out_of_range(key)) {
      Overrides overrides = context_of(key);
      overrides.push_back(key.path + "=" + value);
      const InputProblem problem = parse_problem("{}", overrides);
      EXPECT_TRUE(problem.what.starts_with(key.path + " ")) << overrides.back() << ": " << problem.what;
      EXPECT_EQ(problem.where, "--set " + key.path);
      EXPECT_EQ(problem.expected, type_text(key));
    }
  }
}

TEST(Schema, EveryKeyRefusesNothingAListAndASection) {
  RunConfig config;
  const ConfigSchema schema(config);
  for (const ConfigKey& key : schema.keys()) {
    const bool list = std::holds_alternative<IntegerListType>(key.type);
    const auto [section, name] = split_path(key.path);
    for (const std::string value : {"", "~", "null", list ? "3" : "[3]", "{a: 3}"}) {
      std::string text;
      std::string indent;
      for (std::size_t start = 0; start < section.size();) {
        const std::size_t end = std::min(section.find('.', start), section.size());
        text += indent + section.substr(start, end - start) + ":\n";
        indent += "  ";
        start = end + 1;
      }
      text += indent + name + ": " + value + "\n";
      const InputProblem problem = parse_problem(text);
      EXPECT_TRUE(problem.what.starts_with(key.path + " ")) << text << problem.what;
      EXPECT_TRUE(problem.where.ends_with(" (" + key.path + ")")) << problem.where;
      EXPECT_TRUE(problem.where.starts_with(
          "x.yaml:" + std::to_string(std::count(text.begin(), text.end(), '\n')) + ":"))
          << problem.where;
    }
  }
}

TEST(Schema, EveryWordOfAChoiceIsItsOwnValue) {
  RunConfig config;
  const ConfigSchema schema(config);
  for (const ConfigKey& key : schema.keys()) {
    const auto* choice = std::get_if<ChoiceType>(&key.type);
    if (choice == nullptr) continue;
    for (std::size_t i = 0; i < choice->words.size(); ++i) {
      YamlNode node;
      node.kind = YamlNode::Kind::Scalar;
      node.text = choice->words[i];
      assign(key, node, "");
      EXPECT_EQ(choice->get(), static_cast<int>(i)) << key.path;
      EXPECT_EQ(value_text(key), node.text.empty() ? "\"\"" : node.text) << key.path;
    }
  }
}

// A key is refused exactly with the words of its deciding key for which it has no meaning.
TEST(Schema, EveryKeyWithoutAMeaningIsRefused) {
  RunConfig config;
  const ConfigSchema schema(config);
  int refused = 0;
  for (const ConfigKey& key : schema.keys()) {
    if (key.applies == nullptr) continue;
    const std::vector<std::string> good = words_it_applies_to(key);
    for (const std::string& word : std::get<ChoiceType>(schema.find(key.decided_by)->type).words) {
      if (std::find(good.begin(), good.end(), word) != good.end()) continue;
      Overrides overrides = {key.decided_by + "=" + word, key.path + "=" + value_text(key)};
      const bool tokens = word == "text" || word == "tokens" || word == "synthetic_tokens";
      if (key.decided_by == "data.kind" && tokens) overrides.push_back("model.name=gpt");
      const InputProblem problem = parse_problem("{}", overrides);
      EXPECT_TRUE(problem.what.starts_with(key.path + " has no meaning for "))
          << overrides[0] << ": " << problem.what;
      EXPECT_EQ(problem.where, "--set " + key.path);
      ++refused;
    }
  }
  EXPECT_GT(refused, 50);
}

TEST(Schema, TheReferenceNamesEveryKey) {
  RunConfig config;
  const ConfigSchema schema(config);
  const std::string reference = config_reference_markdown();
  for (const ConfigKey& key : schema.keys()) {
    EXPECT_NE(reference.find("| `" + split_path(key.path).second + "` | "), std::string::npos) << key.path;
    EXPECT_NE(reference.find(key.help), std::string::npos) << key.path;
  }
  EXPECT_NE(reference.find(
                "| `momentum` | number from 0, below 1 | `0.9` |  | Momentum. Only with optim.name sgd. |"),
            std::string::npos);
}

}  // namespace
}  // namespace tandem
