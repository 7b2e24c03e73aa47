// Elements of 8 bits that keys and values are kept in: how a row of numbers becomes them, and vectors of them.
#pragma once

#include "kernels/elementwise_convert.h"

namespace kernelet::KERNELET_ISA {

// Sign, 4 bits of exponent with a bias of 7, 3 of mantissa; no infinities, NaN is all ones.
struct e4m3 {
  uint8_t bits;
};

// What a vector of `load_element` is short of.
template <class E>
inline constexpr double kUnit = 1;
template <>
inline constexpr double kUnit<e4m3> = 256;

template <class E>
inline constexpr bool kHasRowScales = std::is_same_v<E, int8_t>;

// Bytes of a page of elements E.
template <class E>
constexpr int64_t page_bytes(int64_t size, int64_t block_size) {
  const int64_t elements = 2 * size * block_size * static_cast<int64_t>(sizeof(E));
  return kHasRowScales<E> ? elements + 2 * block_size * static_cast<int64_t>(sizeof(float)) : elements;
}

typedef int8_t vs8 __attribute__((vector_size(kLanes), aligned(1), may_alias));
typedef uint8_t vu8 __attribute__((vector_size(kLanes), aligned(1), may_alias));

inline vf load_bytes(const int8_t* p) {
#if defined(__AVX512F__)
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  return (vf)_mm512_maskz_cvtepi32_ps(kAll, _mm512_maskz_cvtepi8_epi32(kAll, bytes));
#elif defined(__AVX2__)
  const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
  return (vf)_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes));
#else
  return __builtin_convertvector(*reinterpret_cast<const vs8*>(p), vf);
#endif
}

// The numbers over 256: as bits of a half, whose exponent has a bias of 15, they are that, subnormal ones too.
inline vf load_bytes(const e4m3* p) {
#if defined(__AVX512F__)
  const __m256i words = _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  const __m256i halves = _mm256_and_si256(_mm256_slli_epi16(words, 7), _mm256_set1_epi16(static_cast<short>(0xbf80)));
  const __m256i nans = _mm256_cmpeq_epi16(_mm256_slli_epi16(words, 9), _mm256_set1_epi16(static_cast<short>(0xfe00)));
  return (vf)_mm512_maskz_cvtph_ps(kAll, _mm256_or_si256(halves, nans));
#elif defined(__F16C__)
  const __m128i words = _mm_cvtepi8_epi16(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
  const __m128i halves = _mm_and_si128(_mm_slli_epi16(words, 7), _mm_set1_epi16(static_cast<short>(0xbf80)));
  const __m128i nans = _mm_cmpeq_epi16(_mm_slli_epi16(words, 9), _mm_set1_epi16(static_cast<short>(0xfe00)));
  return (vf)_mm256_cvtph_ps(_mm_or_si128(halves, nans));
#else
  const vu bits = __builtin_convertvector(*reinterpret_cast<const vu8*>(p), vu);
  const vu size = bits & 0x7f;
  const vf small = __builtin_convertvector((vi)size, vf) * 0x1p-17f;
  const vf large = (vf)((size << 20) + (112u << 23));
  const vu value = size < 8 ? (vu)small : (vu)large;
  return (vf)((size == 0x7f ? value | 0x7fc00000 : value) | (bits & 0x80) << 24);
#endif
}

template <class W, class E>
inline VecOf<W> load_element(const E* p) {
  if constexpr (sizeof(E) > 1) {
    return load(p);
  } else if constexpr (std::is_same_v<W, float>) {
    return load_bytes(p);
  } else {
    E held[kLanes] = {};
    std::memcpy(held, p, kWideLanes<W>);
    const vf narrow = load_bytes(held);
    VecOf<W> wide;
    for (int i = 0; i < kWideLanes<W>; ++i) wide[i] = static_cast<W>(narrow[i]);
    return wide;
  }
}
template <class W, class E>
inline VecOf<W> widen_element(const E* p, int64_t n) {
  if (n == kWideLanes<W>) return load_element<W>(p);
  E held[kWideLanes<W>] = {};
  std::memcpy(held, p, static_cast<size_t>(n) * sizeof(E));
  return load_element<W>(held);
}

// To the nearest, ties to even; what is too large becomes the largest.
inline vu to_bytes(vf x, const e4m3*) {
  const vf plain = (vf)((vu)x & 0x7fffffff);
  const vf size = plain < 448.0f ? plain : splat(448.0f);
  const vu small = (vu)(size + 0x1p14f) - 0x46800000;  // the last bit of that sum is that of the smallest number
  const vu large = ((vu)size - (120u << 23) + 0x7ffff + ((vu)size >> 20 & 1)) >> 20;
  const vu result = size < 0x1p-6f ? small : large;
  return (x == x ? result : vu{} + 0x7f) | ((vu)x >> 24 & 0x80);
}
inline vu to_bytes(vf x, const int8_t*) {  // no NaN
  const vf low = x > -127.0f ? x : splat(-127.0f);
  const vf size = low < 127.0f ? low : splat(127.0f);
  return (vu)(size + 0x1.8p23f) - 0x4b400000;
}

// The first n bytes of words.
inline void put_bytes(void* p, vu words, int64_t n) {
  if (n == kLanes) return store_bytes(p, words);
  uint8_t held[kLanes];
  store_bytes(held, words);
  std::memcpy(p, held, static_cast<size_t>(n));
}

// x over the scale: in the wide dtype, then as float.
template <class S, class E>
void encode_row(const S* x, int64_t size, float scale, E* out) {
  const VecOf<S> by = splat(static_cast<Wide<S>>(scale));
  if constexpr (sizeof(Wide<S>) == 4) {
    each_vector<S>(size, [&](int64_t i, int n) { put_bytes(out + i, to_bytes(widen(x + i, n) / by, out), n); });
  } else {
    for (int64_t i = 0; i < size; i += kLanes) {
      const int64_t count = size - i < kLanes ? size - i : kLanes;
      float held[kLanes] = {};
      each_vector<S>(count, [&](int64_t j, int n) {
        const VecOf<S> over = widen(x + i + j, n) / by;
        for (int lane = 0; lane < n; ++lane) held[j + lane] = static_cast<float>(over[lane]);
      });
      put_bytes(out + i, to_bytes(load(held), out), count);
    }
  }
}

// The scale of a row of int8: 0 where it would be no normal number, and NaN where the row is not finite. Such a row is
// all zeros.
template <class S>
float row_scale(const S* x, int64_t size) {
  using W = Wide<S>;
  VecOf<S> most = {}, rest = {};
  each_vector<S>(size, [&](int64_t i, int n) {
    const VecOf<S> value = widen(x + i, n), plain = value < 0 ? -value : value;
    most = plain > most ? plain : most;
    rest += value - value;  // 0, or NaN
  });
  if (!(lane_sum(rest) == 0)) return NAN;
  const float scale = static_cast<float>(lane_max(most) / W(127));
  return scale < 0x1p-126f ? 0 : scale;
}
template <class S>
float encode_row(const S* x, int64_t size, int8_t* out) {
  const float scale = row_scale(x, size);
  if (scale > 0 && scale < INFINITY)
    encode_row(x, size, scale, out);
  else
    std::memset(out, 0, static_cast<size_t>(size));
  return scale < INFINITY ? scale : NAN;
}

}  // namespace kernelet::KERNELET_ISA
