// Norms over rows.
#pragma once

#include <cstdint>

namespace kernelet {

// Rows [rows, size]; a row of x begins x_stride elements after the one before. weight and bias are wide.
struct NormRows {
  const void* x;
  int64_t x_stride;
  void* y;
  int64_t y_stride;
  int64_t size;
  const void* weight;
  const void* bias;  // nullptr: none
  double eps;
};

// By dtype of y, in the order of Dtype; they compute rows [from, to). y may be x.
struct NormKernels {
  void (*rms[4])(const NormRows&, int64_t from, int64_t to);           // x is of y's dtype
  void (*rms_of_wide[4])(const NormRows&, int64_t from, int64_t to);   // x is in the wide dtype
  void (*layer[4])(const NormRows&, int64_t from, int64_t to);
  void (*layer_of_wide[4])(const NormRows&, int64_t from, int64_t to);
};

}  // namespace kernelet
