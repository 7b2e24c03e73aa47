// A weight [outputs, inputs] in the layout of some kernel. What a fused layer calls; each storage (dense, int8, ...) is
// a class of its own beside this file.
#pragma once

#include <cstdint>
#include <stdexcept>

#include "common/types.h"

namespace kernelet {

class PackedLinear {
 public:
  PackedLinear(int64_t outputs, int64_t inputs) : outputs_(outputs), inputs_(inputs) {}
  virtual ~PackedLinear() = default;
  PackedLinear(const PackedLinear&) = delete;
  PackedLinear& operator=(const PackedLinear&) = delete;

  int64_t outputs() const { return outputs_; }
  int64_t inputs() const { return inputs_; }

  // y[rows, outputs] = x[rows, inputs] @ weight.T + bias. x, y and bias (nullptr: none) are of `dtype` and contiguous;
  // y overlaps neither. Sums are float32, float64 for float64, and rounded once. The bits of a row depend on that row
  // alone: not on `rows`, nor on the threads of pool(), which share the work out. Called from one thread at a time, and
  // never from inside pool().run().
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
};

}  // namespace kernelet
