// A weight [outputs, inputs] in the layout of some kernel. What a fused layer calls; each storage (dense, int8, ...) is
// a class of its own beside this file.
#pragma once

#include <cstdint>
#include <stdexcept>

#include "common/types.h"

namespace kernelet {

// How a product is shared out to threads and read from memory. Bits do not depend on it: it is measured, by
// `kernelet bench kernels --tune`, and may differ from weight to weight.
struct Sharing {
  int64_t row_bytes;    // of inputs that a task goes over again and again
  int64_t panel_bytes;  // of the weight that a task goes over; 0: as many as is fair
  int64_t tasks;        // a thread, at least
  int64_t ahead;        // bytes of the weight that are asked for before they are read, where a kernel does so
};

class PackedLinear {
 public:
  PackedLinear(int64_t outputs, int64_t inputs, const Sharing& sharing)
      : outputs_(outputs), inputs_(inputs), sharing_(sharing) {}
  virtual ~PackedLinear() = default;
  PackedLinear(const PackedLinear&) = delete;
  PackedLinear& operator=(const PackedLinear&) = delete;

  int64_t outputs() const { return outputs_; }
  int64_t inputs() const { return inputs_; }
  const Sharing& sharing() const { return sharing_; }
  // Throws std::invalid_argument for numbers that share nothing out. Not while another thread computes.
  void set_sharing(const Sharing& sharing) {
    if (sharing.row_bytes < 1 || sharing.panel_bytes < 0 || sharing.tasks < 1 || sharing.ahead < 0)
      throw std::invalid_argument("row_bytes and tasks are at least 1, panel_bytes and ahead at least 0");
    sharing_ = sharing;
  }

  // y[rows, outputs] = x[rows, inputs] @ weight.T + bias. x, y and bias (nullptr: none) are of `dtype` and contiguous;
  // y overlaps neither. Sums are float32, float64 for float64, and rounded once. The bits of a row depend on that row
  // alone: not on `rows`, nor on the threads of pool(), which share the work out. Inside pool().run() the calling thread
  // does all of it.
  virtual void apply(const void* x, int64_t rows, void* y, Dtype dtype, const void* bias) const = 0;

  // out[count, inputs] = weight[ids], in the dtype that the weight had before it was packed, bit by bit.
  // Throws std::out_of_range for an id that is none.
  virtual void gather(const int64_t* /*ids*/, int64_t /*count*/, void* /*out*/) const {
    throw std::logic_error("rows of this weight cannot be read back");
  }

  // Bytes of the packed weight.
  virtual int64_t nbytes() const = 0;

 private:
  int64_t outputs_, inputs_;
  Sharing sharing_;
};

}  // namespace kernelet
