#include "data/byte_text.h"

#include <fmt/format.h>

#include <set>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include "core/error.h"
#include "data/file_bytes.h"
#include "data/token_window.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kByteVocabulary = 256;

class ByteText final : public TokenDataset {
 public:
  ByteText(std::vector<std::uint8_t> text, std::int64_t sequence_length)
      : text_(std::move(text)), sequence_length_(sequence_length) {}

  std::int64_t samples() const override {
    return window_count(static_cast<std::int64_t>(text_.size()), sequence_length_);
  }
  std::int64_t sequence_length() const override { return sequence_length_; }
  std::int64_t vocabulary() const override { return kByteVocabulary; }

  void read(std::int64_t index, std::span<std::int32_t> inputs,
            std::span<std::int32_t> targets) const override {
    TANDEM_EXPECT(index >= 0 && index < samples(), "sample {} of a data set of {}", index, samples());
    TANDEM_EXPECT(std::ssize(inputs) == sequence_length_ && std::ssize(targets) == sequence_length_,
                  "samples have {} tokens, got room for {} and {}", sequence_length_, inputs.size(),
                  targets.size());
    copy_window(text_.data() + index * sequence_length_, inputs, targets);
  }

 private:
  std::vector<std::uint8_t> text_;
  std::int64_t sequence_length_;
};

[[noreturn]] void fail(const fs::path& path, std::string expected, std::string found, std::string advice) {
  throw InputError({.what = "The text cannot be used.",
                    .where = path.string(),
                    .expected = std::move(expected),
                    .found = std::move(found),
                    .advice = std::move(advice)});
}

void add_file(const fs::path& path, std::set<std::string>& files) {
  std::error_code code;
  const fs::path real = fs::canonical(path, code);
  if (code)
    fail(path, "a file, or a link to one", code.message(), "Remove the link or restore what it points to.");
  if (fs::is_regular_file(real, code)) files.insert(real.string());
}

void add_folder(const fs::path& folder, std::set<std::string>& files) {
  std::error_code code;
  fs::recursive_directory_iterator entry(folder, code);
  const fs::recursive_directory_iterator end;
  while (!code && entry != end) {
    if (entry->path().filename().string().starts_with('.')) {
      entry.disable_recursion_pending();
    } else if (!fs::is_directory(entry->symlink_status(code))) {
      add_file(entry->path(), files);
    }
    entry.increment(code);
  }
  if (code)
    fail(folder, "a readable folder", code.message(), "Check the permissions of the folder and those below.");
}

std::unique_ptr<TokenDataset> make_part(const char* name, std::span<const std::uint8_t> text,
                                        const fs::path& path, std::int64_t sequence_length) {
  if (std::ssize(text) < sequence_length + 1) {
    fail(path,
         fmt::format("at least {} bytes of {} text, one sample of {} inputs and targets", sequence_length + 1,
                     name, sequence_length),
         fmt::format("{} bytes", text.size()),
         "Give more text, a shorter sequence, or another validation fraction.");
  }
  return std::make_unique<ByteText>(std::vector<std::uint8_t>(text.begin(), text.end()), sequence_length);
}

}  // namespace

std::vector<fs::path> list_text_files(const fs::path& path) {
  std::set<std::string> files;
  std::error_code ignored;  // whatever is wrong with the path itself ends in an empty list
  if (fs::is_directory(path, ignored)) {
    add_folder(path, files);
  } else if (fs::is_regular_file(path, ignored)) {
    add_file(path, files);
  }
  if (files.empty()) {
    fail(path, "a text file, or a folder with text files",
         fs::exists(path, ignored) ? "no regular file" : "no such path",
         "Check the path in the configuration.");
  }
  return {files.begin(), files.end()};
}

SplitDataset<TokenDataset> open_byte_text(const fs::path& path, const ByteTextOptions& options) {
  TANDEM_EXPECT(options.sequence_length > 0, "sequence length {} is not above zero", options.sequence_length);
  TANDEM_EXPECT(options.validation_fraction >= 0.0 && options.validation_fraction < 1.0,
                "validation fraction {} is not in [0, 1)", options.validation_fraction);
  std::vector<std::uint8_t> text;
  for (const fs::path& file : list_text_files(path)) {
    const std::vector<std::uint8_t> bytes = read_bytes(file);
    text.insert(text.end(), bytes.begin(), bytes.end());
  }
  const auto all = std::span<const std::uint8_t>(text);
  const auto held_out =
      static_cast<std::size_t>(options.validation_fraction * static_cast<double>(text.size()));
  SplitDataset<TokenDataset> split;
  split.train = make_part("training", all.first(all.size() - held_out), path, options.sequence_length);
  if (options.validation_fraction > 0.0) {
    split.held_out = make_part("validation", all.last(held_out), path, options.sequence_length);
  }
  return split;
}

}  // namespace tandem
