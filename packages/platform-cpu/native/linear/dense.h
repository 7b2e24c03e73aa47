// Unquantized weights in panels, see kernels/linear_dense.h.
#pragma once

#include <string>

#include "kernels/linear_dense.h"
#include "linear/linear.h"

namespace kernelet {

class DenseLinear : public PackedLinear {
 public:
  // `panels` is what `pack` wrote, with the same instruction set; it must outlive this.
  DenseLinear(Dtype storage, int64_t outputs, int64_t inputs, const void* panels);

  // Names the form of the panels.
  static std::string layout(Dtype storage);
  static int64_t packed_bytes(Dtype storage, int64_t outputs, int64_t inputs);
  // Rows of the weight are `stride` elements apart.
  static void pack(Dtype storage, const void* weight, int64_t stride, int64_t outputs, int64_t inputs, void* panels);

  void apply(const void* x, int64_t rows, void* y, Dtype dtype, const void* bias) const override;
  void gather(const int64_t* ids, int64_t count, void* out) const override;
  int64_t nbytes() const override { return packed_bytes(storage_, outputs(), inputs()); }

 private:
  void apply_some(const void* x, int64_t rows, void* y, Dtype dtype, const void* bias) const;
  const DenseKernels::Way& way_of(Dtype dtype) const;
  const void* tiles_of(const void* x, int64_t rows, Dtype dtype) const;
  const void* padded(const void* bias, Dtype dtype) const;
  int64_t panels() const { return (outputs() + kernel_.columns - 1) / kernel_.columns; }
  int64_t depth() const { return kernel_.depth(inputs()); }
  int64_t panel_bytes() const { return kernel_.columns * depth() * size_of(storage_); }
  int64_t sum_bytes() const { return storage_ == Dtype::float64 ? 8 : 4; }

  Dtype storage_;
  const DenseKernels::Storage& kernel_;
  const char* panels_;
};

}  // namespace kernelet
