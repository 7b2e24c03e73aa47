// The layout of a panel in this instruction set.
#pragma once

#include <type_traits>

#include "kernels/linear_int.h"
#include "kernels/vec.h"

namespace kernelet::KERNELET_ISA {

constexpr int kVectors = 2;  // of columns in a panel
constexpr int kPanel = kVectors * kLanes;

// One group of a panel.
struct Group {
  int64_t start, size;  // inputs, padded
  const float* scales;
  const uint8_t* zeros;
  const uint8_t* elements;
  const uint8_t* end;
};

inline int64_t zero_bytes(const IntFormat& format) {
  return format.zero == IntFormat::Zero::bytes ? kPanel : format.zero == IntFormat::Zero::floats ? 4 * kPanel : 0;
}

inline Group group_at(const IntFormat& format, const uint8_t* at, int64_t start) {
  Group group;
  group.start = start;
  group.size = format.padded() - start < format.group ? format.padded() - start : format.group;
  group.scales = reinterpret_cast<const float*>(at);
  group.zeros = at + 4 * kPanel;
  group.elements = group.zeros + zero_bytes(format);
  group.end = group.elements + group.size * kPanel * format.bits / 8;
  return group;
}

// A stored element of a group; k counts from the group's start.
inline int element(const IntFormat& format, const Group& group, int64_t k, int64_t column) {
  if (format.by_input()) return group.elements[k * kPanel + column];
  if (format.bits == 8) return group.elements[(k / 4 * kPanel + column) * 4 + k % 4];
  return group.elements[(k / 8 * kPanel + column) * 4 + k % 4] >> (k % 8 < 4 ? 0 : 4) & 15;
}

inline float zero_point(const IntFormat& format, const Group& group, int64_t column) {
  switch (format.zero) {
    case IntFormat::Zero::bytes: return group.zeros[column];
    case IntFormat::Zero::floats: return reinterpret_cast<const float*>(group.zeros)[column];
    default: return static_cast<float>(format.origin);
  }
}

inline vi load_words(const uint8_t* p) { return *reinterpret_cast<const vi*>(p); }
inline vi splat_word(const uint8_t* p) { return vi{} + *reinterpret_cast<const int32_t __attribute__((may_alias, aligned(4)))*>(p); }
// A part of the weight that is read later. Beyond the end nothing happens.
template <int64_t kBytes>
inline void ask_for(const uint8_t* bytes) {
  for (int64_t at = 0; at < kBytes; at += 64) __builtin_prefetch(bytes + at);
}
inline vf to_floats(vi v) { return __builtin_convertvector(v, vf); }
inline vi to_words(const uint8_t* bytes) {
#if defined(__AVX512F__)
  return (vi)_mm512_maskz_cvtepu8_epi32(kAll, _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes)));
#elif defined(__AVX2__)
  return (vi)_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(bytes)));
#else
  typedef uint8_t vb __attribute__((vector_size(kLanes), aligned(1), may_alias));
  return __builtin_convertvector(*reinterpret_cast<const vb*>(bytes), vi);
#endif
}

// Bytes of an int8 input in an encoded row. Instructions that multiply bytes take one; elsewhere 16-bit products are
// added in pairs, and inputs 0, 2, 1, 3 of four lie in this order.
inline int input_bytes(const IntFormat& format) {
#if defined(__AVX512VNNI__)
  return format.bits == 0 ? 0 : 1;
#elif defined(__AVX2__)
  return format.bits == 4 ? 1 : 2;
#else
  return format.bits == 0 ? 0 : 2;
#endif
}

// An encoded row: of rounded inputs a head with scale and sums, then the inputs, padded with zeros.
struct RoundedRow {
  double scale;
  const int32_t* sums;  // of the inputs of each group
  const uint8_t* inputs;
};

inline int64_t head_bytes(const IntFormat& format) { return (8 + 4 * format.groups() + 63) / 64 * 64; }

inline RoundedRow rounded_row(const IntFormat& format, const uint8_t* row) {
  RoundedRow rounded;
  std::memcpy(&rounded.scale, row, 8);
  rounded.sums = reinterpret_cast<const int32_t*>(row + 8);
  rounded.inputs = row + head_bytes(format);
  return rounded;
}

int64_t row_bytes(const IntFormat& format, Dtype dtype);

// tile(count, first row) until all rows are taken: `count` is a constant, kMost as often as possible, then less.
template <int kMost, class Tile>
inline void in_tiles(int64_t rows, Tile&& tile) {
  int64_t done = 0;
  const auto take = [&](auto count) {
    for (; rows - done >= count; done += count) tile(count, done);
  };
  take(std::integral_constant<int, kMost>());
  if constexpr (kMost > 8) take(std::integral_constant<int, 8>());
  if constexpr (kMost > 4) take(std::integral_constant<int, 4>());
  take(std::integral_constant<int, 2>());
  take(std::integral_constant<int, 1>());
}

// Rows of a panel: products of rounded inputs, of float32, and of float64 in plain loops.
void multiply_rounded(const IntFormat&, const uint8_t* packed, const uint8_t* encoded, int64_t rows, int64_t ahead, float* out);
void multiply_floats(const IntFormat&, const uint8_t* packed, const uint8_t* encoded, int64_t rows, int64_t ahead, float* out);
// One row of float32, of one panel or kTogether that are `between` bytes apart.
constexpr int64_t kTogether = 2;
void multiply_row(const IntFormat&, const uint8_t* packed, int64_t between, int64_t panels, const uint8_t* encoded,
                  int64_t ahead, float* out);
void multiply_doubles(const IntFormat&, const uint8_t* packed, const uint8_t* row, double* out);

}  // namespace kernelet::KERNELET_ISA
