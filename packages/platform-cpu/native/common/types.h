// Number types that the C++ of the compiler does not have, as bits, and names of dtypes that Python passes.
#pragma once

#include <cstdint>
#include <cstring>

namespace kernelet {

// In the order of kernelet_platform_cpu.native.DTYPES.
enum class Dtype : int { float32 = 0, bfloat16 = 1, float16 = 2, float64 = 3 };

struct bf16 {
  uint16_t bits;
};
struct fp16 {
  uint16_t bits;
};

inline int64_t size_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::float32: return 4;
    case Dtype::float64: return 8;
    default: return 2;
  }
}

}  // namespace kernelet
