// Inputs as they are: weights are dequantized in registers, a few inputs at a time for all rows; every output is one
// chain of fused multiply-adds along the inputs.
#include "kernels/linear_int_layout.h"

namespace kernelet::KERNELET_ISA {
namespace {

#if defined(__AVX512F__)
constexpr int kRows = 12;
#else
constexpr int kRows = 6;
#endif

// Scales and what is added, so that a weight is element * scale + shift.
struct Factors {
  vf scale[kVectors], shift[kVectors];
};

inline Factors factors(const IntFormat& format, const Group& group) {
  Factors result;
  for (int v = 0; v < kVectors; ++v) {
    const vf scale = load(group.scales + v * kLanes);
    vf zero = splat(static_cast<float>(format.origin));
    if (format.zero == IntFormat::Zero::bytes) zero = to_floats(to_words(group.zeros + v * kLanes));
    if (format.zero == IntFormat::Zero::floats) zero = load(reinterpret_cast<const float*>(group.zeros) + v * kLanes);
    result.scale[v] = scale;
    result.shift[v] = -zero * scale;
  }
  return result;
}

// Weights of eight inputs.
template <int kBits>
inline void dequantize(const uint8_t* eight, const Factors& by, vf (*out)[kVectors]) {
#pragma GCC unroll 8
  for (int k = 0; k < 8; ++k)
    for (int v = 0; v < kVectors; ++v) {
      const int part = kBits == 8 ? k / 4 * kVectors + v : v;
      const vu four = (vu)load_words(eight + part * kVectorBytes);
      const vu one = kBits == 8 ? (four >> (k % 4 * 8)) & 255u : (four >> (k % 4 * 8 + k / 4 * 4)) & 15u;
      out[k][v] = fmadd(to_floats((vi)one), by.scale[v], by.shift[v]);
    }
}

template <int kCount, int kBits>
void tile(const IntFormat& format, const uint8_t* packed, const uint8_t* encoded, int64_t stride, float* out) {
  vf sums[kCount][kVectors] = {};
  for (int64_t start = 0; start < format.padded(); start += format.group) {
    const Group group = group_at(format, packed, start);
    packed = group.end;
    const Factors by = factors(format, group);
    const float* inputs = reinterpret_cast<const float*>(encoded) + start;
    for (int64_t k = 0; k < group.size; k += 8) {
      vf w[8][kVectors];
      dequantize<kBits>(group.elements + k * kPanel * kBits / 8, by, w);
#pragma GCC unroll 8
      for (int i = 0; i < 8; ++i)
#pragma GCC unroll 16
        for (int r = 0; r < kCount; ++r) {
          const vf x = splat(inputs[r * stride + k + i]);
          for (int v = 0; v < kVectors; ++v) sums[r][v] = fmadd(w[i][v], x, sums[r][v]);
        }
    }
  }
  for (int r = 0; r < kCount; ++r)
    for (int v = 0; v < kVectors; ++v) store(out + r * kPanel + v * kLanes, sums[r][v]);
}

template <int kBits>
void tiles(const IntFormat& format, const uint8_t* packed, const uint8_t* encoded, int64_t rows, float* out) {
  const int64_t bytes = row_bytes(format, Dtype::float32);
  in_tiles<kRows>(rows, [&](auto count, int64_t done) {
    tile<decltype(count)::value, kBits>(format, packed, encoded + done * bytes, bytes / 4, out + done * kPanel);
  });
}

}  // namespace

void multiply_floats(const IntFormat& format, const uint8_t* packed, const uint8_t* encoded, int64_t rows, float* out) {
  if (format.bits == 8)
    tiles<8>(format, packed, encoded, rows, out);
  else
    tiles<4>(format, packed, encoded, rows, out);
}

}  // namespace kernelet::KERNELET_ISA
