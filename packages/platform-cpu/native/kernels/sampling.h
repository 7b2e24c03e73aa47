// A token from a row of logits. kernelet.sampling.draw is the specification.
#pragma once

#include <cstdint>

namespace kernelet {

// What one row is drawn with. A temperature of 0 takes the best token; `top_k` of 0, `top_p` of 1 and `min_p` of 0 drop
// none. `number` is in [0, 1).
struct DrawCall {
  const void* logits;
  int64_t size;
  double temperature;
  int64_t top_k;
  double top_p;
  double min_p;
  double number;
};

struct DrawResult {
  int64_t token;   // 0 where the maximum is not finite
  double maximum;  // NaN where the row holds one
};

// By dtype, in the order of Dtype. `scratch` has room for `sample_scratch(size)` numbers; a temperature of 0 needs none.
struct SamplingKernels {
  DrawResult (*sample[4])(const DrawCall&, double* scratch);
  // -inf where a bit is 0; bit i % 32 of word i / 32 is element i.
  void (*mask[4])(void* row, const uint32_t* words, int64_t size);
};

inline int64_t sample_scratch(int64_t size) { return 5 * (size + 64); }

}  // namespace kernelet
