// Rows of numbers as vectors of float32 (float64 for float64). Every element is converted alike, in a full vector or a
// part of one.
#pragma once

#include <type_traits>

#include "kernels/vec.h"

namespace kernelet::KERNELET_ISA {

// The dtype of sums, and its vectors.
template <class S>
struct WideOf {
  using Scalar = float;
  using Vector = vf;
};
template <>
struct WideOf<double> {
  using Scalar = double;
  using Vector = vd;
};
template <class S>
using Wide = typename WideOf<S>::Scalar;
template <class S>
using VecOf = typename WideOf<S>::Vector;
template <class S>
inline constexpr int kWideLanes = kVectorBytes / static_cast<int>(sizeof(Wide<S>));

// The first n elements; the other lanes are zero.
template <class S>
inline VecOf<S> widen_part(const S* p, int64_t n) {
  S held[kWideLanes<S>] = {};
  std::memcpy(held, p, static_cast<size_t>(n) * sizeof(S));
  return load(held);
}
template <class S>
inline void narrow_part(S* p, VecOf<S> v, int64_t n) {
  S held[kWideLanes<S>];
  store(held, v);
  std::memcpy(p, held, static_cast<size_t>(n) * sizeof(S));
}

// fn(index, lanes) for each vector of n elements; the last may be a part.
template <class S, class F>
inline void each_vector(int64_t n, F&& fn) {
  int64_t i = 0;
  for (; i + kWideLanes<S> <= n; i += kWideLanes<S>) fn(i, kWideLanes<S>);
  if (i < n) fn(i, static_cast<int>(n - i));
}
template <class S>
inline VecOf<S> widen(const S* p, int64_t n) {
  return n == kWideLanes<S> ? load(p) : widen_part(p, n);
}
template <class S>
inline void narrow(S* p, VecOf<S> v, int64_t n) {
  if (n == kWideLanes<S>)
    store(p, v);
  else
    narrow_part(p, v, n);
}

// Sum and maximum of the lanes, in a fixed order. A NaN may be lost in a maximum.
template <class V>
inline auto lane_sum(V v) {
  constexpr int lanes = sizeof(V) / sizeof(v[0]);
  std::remove_reference_t<decltype(v[0])> held[lanes];
  std::memcpy(held, &v, sizeof v);
  for (int half = lanes / 2; half; half /= 2)
    for (int i = 0; i < half; ++i) held[i] += held[i + half];
  return held[0];
}
template <class V>
inline auto lane_max(V v) {
  constexpr int lanes = sizeof(V) / sizeof(v[0]);
  std::remove_reference_t<decltype(v[0])> held[lanes];
  std::memcpy(held, &v, sizeof v);
  for (int half = lanes / 2; half; half /= 2)
    for (int i = 0; i < half; ++i) held[i] = held[i] > held[i + half] ? held[i] : held[i + half];
  return held[0];
}
#if defined(__AVX512F__)
// In registers, in the same order.
inline float lane_sum(vf v) { return _mm512_reduce_add_ps((__m512)v); }
inline float lane_max(vf v) { return _mm512_reduce_max_ps((__m512)v); }
#endif

}  // namespace kernelet::KERNELET_ISA
