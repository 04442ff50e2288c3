// See failing_training.h; on CPU ranks.
#include "ranks/failing_training.h"

int main(int argc, char** argv) {
  tandem::failing_training_main(argc, argv, [](tandem::Comm&) { return tandem::FailingDevice{}; });
}
