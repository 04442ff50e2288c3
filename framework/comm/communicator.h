// Collectives between the ranks of a job, on device memory, in stream order.
#pragma once

#include <string>
#include <string_view>

#include "core/tensor_view.h"
#include "device/stream.h"

namespace tandem {

struct Rank {
  int value = 0;
  auto operator<=>(const Rank&) const = default;
};

// Every rank must make the same calls in the same order with the same sizes: a collective starts when the
// last rank has reached it. Calls only enqueue; results are there for work enqueued behind them on the same
// stream. Collectives run in the order of the calls, whichever streams they were given. A member that fails
// asynchronously poisons the stream (see Stream) and is rethrown by throw_if_failed(). One communicator per
// job and rank; calls come from one thread at a time.
//
// There is no average: gradients are summed on the wire, and the one place that divides by the number of
// contributions is the loss scale (ops/step_state.h).
class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual Rank rank() const = 0;
  virtual int world_size() const = 0;

  // inout[i] = sum over ranks of inout[i]; the same bits on every rank.
  virtual void all_reduce_sum(TensorView inout, Stream& stream) = 0;
  // `all` [world_size * piece]: rank r keeps the sum of its r-th piece, in place; other pieces are undefined
  // after.
  virtual void reduce_scatter_sum(TensorView all, Stream& stream) = 0;
  // `all` [world_size * piece]: rank r contributes its r-th piece; every rank gets all pieces, in place.
  virtual void all_gather(TensorView all, Stream& stream) = 0;
  virtual void broadcast(TensorView inout, Rank root, Stream& stream) = 0;

  // Names the next collective in reports of what a job was waiting for, such as "bucket 3".
  virtual void label_next(std::string_view /*label*/) {}

  virtual void throw_if_failed() = 0;

  // What carries the bytes, in words for tables: "single", "mpi", "ring over mpi", "mpi, paced to 1 Gbit/s".
  virtual std::string description() const = 0;
};

}  // namespace tandem
