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

inline vf load(const float* p) { return *reinterpret_cast<const vf*>(p); }
inline vd load(const double* p) { return *reinterpret_cast<const vd*>(p); }
inline void store(float* p, vf v) { *reinterpret_cast<vf*>(p) = v; }
inline void store(double* p, vd v) { *reinterpret_cast<vd*>(p) = v; }
inline vf splat(float x) { return vf{} + x; }
inline vd splat(double x) { return vd{} + x; }

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

}  // namespace kernelet::KERNELET_ISA
