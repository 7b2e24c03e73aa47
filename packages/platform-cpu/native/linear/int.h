// A weight of 2 to 8 bits.
#pragma once

#include <string>

#include "kernels/linear_int.h"
#include "linear/linear.h"

namespace kernelet {

class IntLinear final : public PackedLinear {
 public:
  // `packed` has bytes(format), 64-aligned; the caller keeps it alive. It is filled by `pack`, or was by another one.
  IntLinear(const IntFormat& format, uint8_t* packed);

  // Names the form of the panels.
  static std::string layout();
  static int64_t bytes(const IntFormat& format);

  void pack(const IntSource& source);
  void apply(const void* x, int64_t rows, void* y, Dtype dtype, const void* bias) const override;
  void gather(const int64_t* ids, int64_t count, void* out) const override;  // float32
  int64_t nbytes() const override { return bytes(format_); }

 private:
  void apply_some(const void* x, int64_t rows, void* y, Dtype dtype, const void* bias) const;
  int64_t panels() const { return (outputs() + kernel_.panel - 1) / kernel_.panel; }
  uint8_t* panel(int64_t index) const { return packed_ + index * panel_bytes_; }

  const IntKernels& kernel_;
  IntFormat format_;
  int64_t panel_bytes_;
  uint8_t* packed_;
};

}  // namespace kernelet
