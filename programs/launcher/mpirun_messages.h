// What mpirun says beside the programs it starts, with what only repeats them taken out.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace tandem {

// A filter for the standard error of a job. When one of our programs ends with an error, it has said why;
// Open MPI then adds paragraphs between rules of dashes, such as "MPI_ABORT was invoked on rank 0 …" and
// "Primary job terminated normally, but 1 process returned a non-zero exit code". Those are left out.
// Everything else passes unchanged and at once, what mpirun knows alone too (a rank killed by a signal, too
// few slots): only a line that begins with dashes is held back until it is clear what it belongs to. Bytes
// may come cut anywhere. One thread at a time.
class MpirunMessages {
 public:
  using Output = std::function<void(std::string_view)>;

  explicit MpirunMessages(Output output) : output_(std::move(output)) {}

  void write(std::string_view bytes);
  void finish();  // lets go of what is held back

 private:
  void take_line();
  void end_frame();

  Output output_;
  std::string line_;       // held back: the line so far, if it may be a rule or is within a frame
  bool line_held_ = true;  // at the start of a line nothing has been passed on
  std::string frame_;      // held back: from a rule on, with it
  int frame_lines_ = 0;
};

}  // namespace tandem
