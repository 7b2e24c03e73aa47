// Two bfloat16 in a word, as AVX512-BF16 multiplies and adds them: a word's low product, then its high one, is added to
// a float. Only where the instruction set has it.
#pragma once

#include "kernels/vec.h"

namespace kernelet::KERNELET_ISA {

#if defined(__AVX512BF16__)
inline constexpr bool kHasPairs = true;

inline vf add_pairs(vf sum, vu a, vu b) { return (vf)_mm512_dpbf16_ps((__m512)sum, (__m512bh)a, (__m512bh)b); }

// `n` numbers, the rest zeros.
inline vu load_words(const bf16* p, int n) {
  const __mmask16 there = static_cast<__mmask16>((1u << n) - 1);
  return (vu)_mm512_maskz_cvtepu16_epi32(there, _mm256_maskz_loadu_epi16(there, p));
}

// Words of two numbers that lie side by side, of `n` numbers; the rest zeros.
inline vu load_pairs(const bf16* p, int64_t n) {
  const __mmask32 there = static_cast<__mmask32>((uint64_t{1} << n) - 1);
  return (vu)_mm512_maskz_loadu_epi16(there, p);
}

// columns[i][r] = rows[r][i]; lanes beyond the rows are zero.
inline void transpose(const vu (&rows)[12], vu (&columns)[16]) {
  __m512i quads[3][4];  // [c] of rows 4g to 4g + 3: those of column 4l + c in part l
  for (int g = 0; g < 3; ++g) {
    const __m512i a = (__m512i)rows[4 * g], b = (__m512i)rows[4 * g + 1], c = (__m512i)rows[4 * g + 2],
                  d = (__m512i)rows[4 * g + 3];
    const __m512i low = _mm512_unpacklo_epi32(a, b), high = _mm512_unpackhi_epi32(a, b);
    const __m512i lower = _mm512_unpacklo_epi32(c, d), higher = _mm512_unpackhi_epi32(c, d);
    quads[g][0] = _mm512_unpacklo_epi64(low, lower);
    quads[g][1] = _mm512_unpackhi_epi64(low, lower);
    quads[g][2] = _mm512_unpacklo_epi64(high, higher);
    quads[g][3] = _mm512_unpackhi_epi64(high, higher);
  }
  for (int c = 0; c < 4; ++c) {
    const __m512i even = _mm512_shuffle_i32x4(quads[0][c], quads[1][c], 0x88);
    const __m512i odd = _mm512_shuffle_i32x4(quads[0][c], quads[1][c], 0xdd);
    const __m512i evens = _mm512_shuffle_i32x4(quads[2][c], __m512i{}, 0x88);
    const __m512i odds = _mm512_shuffle_i32x4(quads[2][c], __m512i{}, 0xdd);
    columns[c] = (vu)_mm512_shuffle_i32x4(even, evens, 0x88);
    columns[4 + c] = (vu)_mm512_shuffle_i32x4(odd, odds, 0x88);
    columns[8 + c] = (vu)_mm512_shuffle_i32x4(even, evens, 0xdd);
    columns[12 + c] = (vu)_mm512_shuffle_i32x4(odd, odds, 0xdd);
  }
}

// Nearest, ties to even.
inline void store_rounded(bf16* p, vf v) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), (__m256i)_mm512_cvtneps_pbh((__m512)v));
}
#else
inline constexpr bool kHasPairs = false;

inline vf add_pairs(vf sum, vu, vu) { return sum; }
inline vu load_words(const bf16*, int) { return vu{}; }
inline void store_rounded(bf16*, vf) {}
#endif

inline vu load_words(const bf16* p) { return __builtin_convertvector(*reinterpret_cast<const vh*>(p), vu); }

// Numbers of two rows, side by side.
inline vu pair_rows(const bf16* low, const bf16* high) {
#if defined(__AVX512BF16__)
  alignas(64) static constexpr uint16_t kTurns[] = {0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
                                                    8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
  const __m512i first = _mm512_castsi256_si512(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(low)));
  const __m512i both = _mm512_inserti64x4(first, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(high)), 1);
  return (vu)_mm512_maskz_permutexvar_epi16(~__mmask32{0}, *reinterpret_cast<const __m512i*>(kTurns), both);
#else
  return load_words(low) | load_words(high) << 16;
#endif
}

// The two numbers that lie there, in every word.
inline vu splat_pair(const bf16* p) {
  uint32_t word;
  std::memcpy(&word, p, 4);
  return vu{} + word;
}

// words[i] = make(words[i], i, n) for `count` words in vectors; of the last one n are there.
template <class F>
inline void each_word(int64_t count, float* words, F&& make) {
  for (int64_t i = 0; i < count; i += kLanes) {
    vu& place = *reinterpret_cast<vu*>(words + i);
    if (count - i >= kLanes) {
      place = make(place, i, kLanes);
    } else {
      vu last = {};
      const size_t bytes = static_cast<size_t>(count - i) * 4;
      std::memcpy(&last, words + i, bytes);
      last = make(last, i, static_cast<int>(count - i));
      std::memcpy(words + i, &last, bytes);
    }
  }
}

// Keys [size, `count` of them], rows `stride` apart -> words of numbers 2i and 2i + 1, rows `width` apart.
inline void pair_keys(const bf16* keys, int64_t size, int64_t stride, int64_t count, float* words, int64_t width) {
  for (int64_t d = 0; d < size; d += 2, keys += 2 * stride, words += width)
    each_word(count, words, [&](vu, int64_t i, int n) {
      const vu low = load_words(keys + i, n);
      return d + 1 < size ? low | load_words(keys + stride + i, n) << 16 : low;
    });
}

// Values [count, size] of keys from `key` on -> words of rows 2i and 2i + 1, which may be half there.
inline void pair_values(const bf16* values, int64_t size, int64_t key, int64_t count, float* words, int64_t width) {
  const int64_t end = key + count;
  for (int64_t taken; key < end; key += taken, values += taken * size) {
    taken = key % 2 || key + 1 == end ? 1 : 2;
    each_word(size, words + key / 2 * width, [&](vu held, int64_t i, int n) {
      const vu mine = load_words(values + i, n);
      if (taken == 2) return mine | load_words(values + size + i, n) << 16;
      return key % 2 ? (held & 0xffff) | mine << 16 : mine;
    });
  }
}

}  // namespace kernelet::KERNELET_ISA
