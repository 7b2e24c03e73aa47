// Vectors of the instruction set that a file is compiled for. Kernels are written once over these: arithmetic of GCC's
// vector extensions, and the few operations that need an instruction of their own.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "common/types.h"

namespace kernelet::KERNELET_ISA {

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

// Floats and int32 of a vector; doubles are half as many.
constexpr int kLanes = kVectorBytes / 4;

typedef float vf __attribute__((vector_size(kVectorBytes), aligned(4), may_alias));
typedef double vd __attribute__((vector_size(kVectorBytes), aligned(8), may_alias));
typedef int32_t vi __attribute__((vector_size(kVectorBytes), aligned(4), may_alias));
typedef uint32_t vu __attribute__((vector_size(kVectorBytes), aligned(4), may_alias));
typedef uint16_t vh __attribute__((vector_size(kVectorBytes / 2), aligned(2), may_alias));  // kLanes 16-bit numbers

inline vf load(const float* p) { return *reinterpret_cast<const vf*>(p); }
inline vd load(const double* p) { return *reinterpret_cast<const vd*>(p); }
inline void store(float* p, vf v) { *reinterpret_cast<vf*>(p) = v; }
inline void store(double* p, vd v) { *reinterpret_cast<vd*>(p) = v; }
inline vf splat(float x) { return x - vf{}; }  // minus zero changes nothing, and costs nothing
inline vd splat(double x) { return x - vd{}; }

// Bytes of a weight that are read later, a line of them each 64. They do not come to stay: the other caches keep what
// the rest of a step uses. Beyond the end nothing happens.
template <int64_t kBytes>
inline void ask_for(const void* bytes) {
  for (int64_t at = 0; at < kBytes; at += 64) __builtin_prefetch(static_cast<const char*>(bytes) + at, 0, 0);
}

// a * b + c, rounded once where the instruction set has it. The portable path rounds twice, everywhere alike.
inline vf fmadd(vf a, vf b, vf c) {
#if defined(__AVX512F__)
  return (vf)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined(__FMA__)
  return (vf)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#else
  return a * b + c;
#endif
}
inline vd fmadd(vd a, vd b, vd c) {
#if defined(__AVX512F__)
  return (vd)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
#elif defined(__FMA__)
  return (vd)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
#else
  return a * b + c;
#endif
}

inline float to_float(bf16 x) {
  const uint32_t bits = static_cast<uint32_t>(x.bits) << 16;
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}
// Nearest, ties to even; NaN stays NaN.
inline bf16 to_bf16(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, 4);
  if (std::isnan(x)) return {static_cast<uint16_t>(bits >> 16 | 0x40)};
  return {static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}


#if defined(__AVX512F__)
constexpr __mmask16 kAll = 0xffff;  // the forms without a mask start from a vector that GCC 12 warns of
#endif

// The low 16 bits of each word, and the low 8. GCC would take a vector apart for it.
inline void store_halves(void* p, vu words) {
#if defined(__AVX512F__)
  _mm256_storeu_si256(static_cast<__m256i*>(p), _mm512_maskz_cvtepi32_epi16(kAll, (__m512i)words));
#elif defined(__AVX2__)
  const __m256i low = _mm256_and_si256((__m256i)words, _mm256_set1_epi32(0xffff));
  const __m128i halves = _mm_packus_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1));
  _mm_storeu_si128(static_cast<__m128i*>(p), halves);
#else
  *static_cast<vh*>(p) = __builtin_convertvector(words, vh);
#endif
}
inline void store_bytes(void* p, vu words) {
#if defined(__AVX512F__)
  _mm_storeu_si128(static_cast<__m128i*>(p), _mm512_maskz_cvtepi32_epi8(kAll, (__m512i)words));
#elif defined(__AVX2__)
  const __m256i low = _mm256_shuffle_epi8((__m256i)words, _mm256_set1_epi32(0x0c080400));
  const __m128i bytes = _mm_unpacklo_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1));
  _mm_storel_epi64(static_cast<__m128i*>(p), bytes);
#else
  typedef uint8_t vb __attribute__((vector_size(kLanes), aligned(1), may_alias));
  *static_cast<vb*>(p) = __builtin_convertvector(words, vb);
#endif
}

// kLanes numbers of 16 bits, widened.
inline vf load(const bf16* p) {
#if defined(__AVX512F__)
  const vu words = (vu)_mm512_maskz_cvtepu16_epi32(kAll, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
#elif defined(__AVX2__)
  const vu words = (vu)_mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
#else
  const vu words = __builtin_convertvector(*reinterpret_cast<const vh*>(p), vu);
#endif
  return (vf)(words << 16);
}
inline vf load(const fp16* p) {
#if defined(__AVX512F__)
  return (vf)_mm512_maskz_cvtph_ps(kAll, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
#elif defined(__F16C__)
  return (vf)_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
#else
  const vu bits = __builtin_convertvector(*reinterpret_cast<const vh*>(p), vu);
  const vf tiny = (vf)((bits & 0x7fff) << 13);  // the number over 2^112, whatever it is
  const vf value = tiny * 0x1p112f;
  const vu special = (vu)(value >= 65536.0f) & 0x7f800000;  // infinity and NaN
  return (vf)((vu)value | special | (bits & 0x8000) << 16);
#endif
}

// Rounded to nearest, ties to even; NaN stays NaN.
inline void store(bf16* p, vf v) {
  const vu bits = (vu)v;
  const vu rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  const vu result = v == v ? rounded : bits >> 16 | 0x40;
  store_halves(p, result);
}
inline void store(fp16* p, vf v) {
#if defined(__AVX512F__)
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_maskz_cvtps_ph(kAll, (__m512)v, _MM_FROUND_TO_NEAREST_INT));
#elif defined(__F16C__)
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_cvtps_ph((__m256)v, _MM_FROUND_TO_NEAREST_INT));
#else
  const vu bits = (vu)v & 0x7fffffff;
  const vf size = (vf)bits;
  const vu subnormal = (vu)(size + 0.5f) - 0x3f000000;  // the last bit of a half is that of the smallest fp16
  const vu normal = (bits - (112u << 23) + 0xfff + (bits >> 13 & 1)) >> 13;
  vu result = size < 0x1p-14f ? subnormal : normal;
  result = size < 65520.0f ? result : vu{} + 0x7c00;
  result = v == v ? result : vu{} + 0x7e00;
  store_halves(p, result | ((vu)v >> 16 & 0x8000));
#endif
}

inline float to_float(fp16 x) {
  const fp16 lanes[kLanes] = {x};
  return load(lanes)[0];
}
inline fp16 to_fp16(float x) {
  fp16 lanes[kLanes];
  store(lanes, splat(x));
  return lanes[0];
}

}  // namespace kernelet::KERNELET_ISA
