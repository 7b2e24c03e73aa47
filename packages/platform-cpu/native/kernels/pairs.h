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
inline vu pair_rows(const bf16* low, const bf16* high) { return load_words(low) | load_words(high) << 16; }

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
