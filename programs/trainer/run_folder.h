// The directory that a run leaves its files in, made sure of before the first step.
#pragma once

#include <filesystem>
#include <string>

#include "report/run_record.h"

namespace tandem {

// Made by rank 0 before anything else. What would keep the record from being written after hours of training
// (no directory, no permission, a full or read-only disk, another run that writes there) ends the run now.
//
// The directory is locked while this lives: two runs in one directory would overwrite each other's files.
// File systems that know no locks do without.
class RunFolder {
 public:
  // Makes the directory and its parents. Throws InputError naming `path` and the system's reason.
  explicit RunFolder(std::filesystem::path path);
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path metrics_path() const { return path_ / "metrics.jsonl"; }

  // What only some runs leave, and what would be taken for this run's: metrics.jsonl and trace.json.
  void remove_leftovers() const;

  // trace.json, of the record's timelines. Throws InputError.
  void write_trace(const RunRecord& record) const;

  // record.json first, since the others can be made from it. Throws InputError.
  void write(const RunRecord& record) const;

 private:
  const std::filesystem::path path_;
  int descriptor_ = -1;
};

}  // namespace tandem
