// Sums and activations, element by element.
#pragma once

#include <cstdint>

namespace kernelet {

// out = x + scale * y over elements [from, to) of contiguous buffers.
struct AddCall {
  const void* x;
  const void* y;
  void* out;
  double scale;
};

// In the order of kernelet_platform_cpu.ops.activations.NAMES.
enum class Activation : int { silu = 0, gelu = 1, gelu_tanh = 2, relu = 3, relu2 = 4, quick_gelu = 5 };

// y [rows, size]: the activation of x, or of its first half times the second where `gated`.
struct ActivationRows {
  const void* x;
  int64_t x_stride;
  void* y;
  int64_t size;
  Activation kind;
  bool gated;
};

// By dtype, in the order of Dtype.
struct ElementwiseKernels {
  void (*add[4])(const AddCall&, int64_t from, int64_t to);          // x and out are of y's dtype
  void (*add_to_wide[4])(const AddCall&, int64_t from, int64_t to);  // x and out are wide
  void (*activate[4])(const ActivationRows&, int64_t from, int64_t to);
};

}  // namespace kernelet
