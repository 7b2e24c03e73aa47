// Inputs as they are: elements less their zero points are multiplied in float32, a group's sum is one chain of fused
// multiply-adds along its inputs, and is then scaled and added, in the order of the groups.
#include "kernels/linear_int_layout.h"

namespace kernelet::KERNELET_ISA {
namespace {

#if defined(__AVX512F__)
constexpr int kRows = 12;
#else
constexpr int kRows = 6;
#endif

struct Zeros {
  vf of[kVectors];
};

inline Zeros zeros_of(const IntFormat& format, const Group& group) {
  Zeros zeros;
  for (int v = 0; v < kVectors; ++v) {
    zeros.of[v] = splat(static_cast<float>(format.origin));
    if (format.zero == IntFormat::Zero::bytes) zeros.of[v] = to_floats(to_words(group.zeros + v * kLanes));
    if (format.zero == IntFormat::Zero::floats) zeros.of[v] = load(reinterpret_cast<const float*>(group.zeros) + v * kLanes);
  }
  return zeros;
}

// Elements of input k of eight, for the outputs of vector v.
template <int kBits>
inline vf weight(const uint8_t* eight, int k, int v, const Zeros& zeros) {
  if constexpr (kBits == 8) return to_floats(to_words(eight + k * kPanel + v * kLanes)) - zeros.of[v];
  const vu four = (vu)load_words(eight + v * kVectorBytes);
  return to_floats((vi)((four >> (k % 4 * 8 + k / 4 * 4)) & 15u)) - zeros.of[v];
}

template <int kCount, int kBits>
void tile(const IntFormat& format, const uint8_t* packed, const uint8_t* encoded, int64_t stride, int64_t ahead, float* out) {
  constexpr int64_t kEight = kPanel * kBits;
  vf totals[kCount][kVectors] = {};
  for (int64_t start = 0; start < format.padded(); start += format.group) {
    const Group group = group_at(format, packed, start);
    packed = group.end;
    const Zeros zeros = zeros_of(format, group);
    const float* inputs = reinterpret_cast<const float*>(encoded) + start;
    vf sums[kCount][kVectors] = {};
    for (int64_t k = 0; k < group.size; k += 8) {
      const uint8_t* eight = group.elements + k / 8 * kEight;
      ask_for<kEight>(eight + ahead);
      vf w[8][kVectors];
#pragma GCC unroll 8
      for (int i = 0; i < 8; ++i)
        for (int v = 0; v < kVectors; ++v) w[i][v] = weight<kBits>(eight, i, v, zeros);
#pragma GCC unroll 8
      for (int i = 0; i < 8; ++i)
#pragma GCC unroll 16
        for (int r = 0; r < kCount; ++r) {
          const vf x = splat(inputs[r * stride + k + i]);
          for (int v = 0; v < kVectors; ++v) sums[r][v] = fmadd(w[i][v], x, sums[r][v]);
        }
    }
    for (int v = 0; v < kVectors; ++v) {
      const vf scale = load(group.scales + v * kLanes);
      for (int r = 0; r < kCount; ++r) totals[r][v] = fmadd(sums[r][v], scale, totals[r][v]);
    }
  }
  for (int r = 0; r < kCount; ++r)
    for (int v = 0; v < kVectors; ++v) store(out + r * kPanel + v * kLanes, totals[r][v]);
}

// One row of kPanels panels, `between` bytes apart: a panel alone waits for its own sums.
template <int kPanels, int kBits>
void row(const IntFormat& format, const uint8_t* packed, int64_t between, const uint8_t* encoded, int64_t ahead, float* out) {
  constexpr int64_t kEight = kPanel * kBits;
  vf totals[kPanels][kVectors] = {};
  for (int64_t start = 0; start < format.padded(); start += format.group) {
    const Group group = group_at(format, packed, start);
    const float* inputs = reinterpret_cast<const float*>(encoded) + start;
    Zeros zeros[kPanels];
    for (int p = 0; p < kPanels; ++p) zeros[p] = zeros_of(format, group_at(format, packed + p * between, start));
    vf sums[kPanels][kVectors] = {};
    for (int64_t k = 0; k < group.size; k += 8) {
      const uint8_t* eight = group.elements + k / 8 * kEight;
      for (int p = 0; p < kPanels; ++p) ask_for<kEight>(eight + p * between + ahead);
#pragma GCC unroll 8
      for (int i = 0; i < 8; ++i) {
        const vf x = splat(inputs[k + i]);
#pragma GCC unroll 4
        for (int p = 0; p < kPanels; ++p)
          for (int v = 0; v < kVectors; ++v)
            sums[p][v] = fmadd(weight<kBits>(eight + p * between, i, v, zeros[p]), x, sums[p][v]);
      }
    }
    for (int p = 0; p < kPanels; ++p)
      for (int v = 0; v < kVectors; ++v)
        totals[p][v] = fmadd(sums[p][v], load(group_at(format, packed + p * between, start).scales + v * kLanes), totals[p][v]);
    packed = group.end;
  }
  for (int p = 0; p < kPanels; ++p)
    for (int v = 0; v < kVectors; ++v) store(out + p * kPanel + v * kLanes, totals[p][v]);
}

template <int kBits>
void tiles(const IntFormat& format, const uint8_t* packed, const uint8_t* encoded, int64_t rows, int64_t ahead, float* out) {
  const int64_t bytes = row_bytes(format, Dtype::float32);
  in_tiles<kRows>(rows, [&](auto count, int64_t done) {
    tile<decltype(count)::value, kBits>(format, packed, encoded + done * bytes, bytes / 4, ahead, out + done * kPanel);
  });
}

}  // namespace

void multiply_floats(const IntFormat& format, const uint8_t* packed, const uint8_t* encoded, int64_t rows, int64_t ahead,
                     float* out) {
  (format.bits == 8 ? tiles<8> : tiles<4>)(format, packed, encoded, rows, ahead, out);
}

void multiply_row(const IntFormat& format, const uint8_t* packed, int64_t between, int64_t panels, const uint8_t* encoded,
                  int64_t ahead, float* out) {
  if (panels == kTogether)
    (format.bits == 8 ? row<kTogether, 8> : row<kTogether, 4>)(format, packed, between, encoded, ahead, out);
  else
    (format.bits == 8 ? row<1, 8> : row<1, 4>)(format, packed, between, encoded, ahead, out);
}

}  // namespace kernelet::KERNELET_ISA
