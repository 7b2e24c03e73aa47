// Elementary functions on vectors, the same in every lane and instruction set (but for fmadd, see vec.h). Those of
// doubles are the C library's.
#pragma once

#include "kernels/elementwise_convert.h"

namespace kernelet::KERNELET_ISA {

// x held between two numbers; NaN stays NaN.
inline vf held(vf x, float low, float high) {
#if defined(__AVX512F__)
  return (vf)_mm512_min_ps((__m512)splat(high), _mm512_max_ps((__m512)splat(low), (__m512)x));
#else
  x = x < low ? vf{} + low : x;
  return x > high ? vf{} + high : x;
#endif
}

// e^x within 2 ulp (Cody and Waite's reduction, Moshier's polynomial); 0 and infinity outside, NaN stays NaN.
inline vf exp_of(vf x) {
  constexpr float kLow = -104.0f, kHigh = 89.0f, kMagic = 12582912.0f;
  x = held(x, kLow, kHigh);
  const vf shifted = fmadd(x, splat(1.44269504088896341f), splat(kMagic));
  const vf n = shifted - kMagic;
  vf r = fmadd(n, splat(-0.693359375f), x);
  r = fmadd(n, splat(2.12194440e-4f), r);
  vf p = splat(1.9875691500e-4f);
  p = fmadd(p, r, splat(1.3981999507e-3f));
  p = fmadd(p, r, splat(8.3334519073e-3f));
  p = fmadd(p, r, splat(4.1665795894e-2f));
  p = fmadd(p, r, splat(1.6666665459e-1f));
  p = fmadd(p, r, splat(5.0000001201e-1f));
  p = fmadd(p, r * r, r) + 1.0f;
#if defined(__AVX512F__)
  return (vf)_mm512_scalef_ps((__m512)p, (__m512)n);
#else
  const vi power = (vi)shifted - (vi)splat(kMagic);
  const vi half = power >> 1;  // 2^power in two factors: it may be below the normal numbers
  return p * (vf)((half + 127) << 23) * (vf)((power - half + 127) << 23);
#endif
}

// tanh x within 4 ulp: a rational function, as Eigen has it.
inline vf tanh_of(vf x) {
  constexpr float kLargest = 7.90531110763549805f;
  x = held(x, -kLargest, kLargest);
  const vf s = x * x;
  vf p = splat(-2.76076847742355e-16f);
  p = fmadd(p, s, splat(2.00018790482477e-13f));
  p = fmadd(p, s, splat(-8.60467152213735e-11f));
  p = fmadd(p, s, splat(5.12229709037114e-08f));
  p = fmadd(p, s, splat(1.48572235717979e-05f));
  p = fmadd(p, s, splat(6.37261928875436e-04f));
  p = fmadd(p, s, splat(4.89352455891786e-03f));
  vf q = splat(1.19825839466702e-06f);
  q = fmadd(q, s, splat(1.18534705686654e-04f));
  q = fmadd(q, s, splat(2.26843463243900e-03f));
  q = fmadd(q, s, splat(4.89352518554385e-03f));
  return x * p / q;
}

// The error function within 4 ulp, a polynomial near 0 and 1 - e^polynomial beyond.
inline vf erf_of(vf x) {
  const vf s = x * x, t = (vf)((vi)x & 0x7fffffff);
  vf far = fmadd(splat(-1.72853470e-5f), t, splat(3.83197126e-4f));
  const vf u = fmadd(splat(-3.88396438e-3f), t, splat(2.42546219e-2f));
  far = fmadd(far, s, u);
  far = fmadd(far, t, splat(-1.06777877e-1f));
  far = fmadd(far, t, splat(-6.34846687e-1f));
  far = fmadd(far, t, splat(-1.28717512e-1f));
  far = 1.0f - exp_of(fmadd(far, t, -t));
  far = (vf)((vi)far | ((vi)x & INT32_MIN));
  vf near = splat(-5.96761703e-4f);
  near = fmadd(near, s, splat(4.99119423e-3f));
  near = fmadd(near, s, splat(-2.67681349e-2f));
  near = fmadd(near, s, splat(1.12819925e-1f));
  near = fmadd(near, s, splat(-3.76125336e-1f));
  near = fmadd(near, s, splat(1.28379166e-1f));
  near = fmadd(near, x, x);
  return t > 0.927734375f ? far : near;
}

inline vd each_lane(vd v, double (*fn)(double)) {
  double held[kVectorBytes / 8];
  store(held, v);
  for (double& x : held) x = fn(x);
  return load(held);
}
inline vd exp_of(vd x) { return each_lane(x, ::exp); }
inline vd tanh_of(vd x) { return each_lane(x, ::tanh); }
inline vd erf_of(vd x) { return each_lane(x, ::erf); }

}  // namespace kernelet::KERNELET_ISA
