#include "kernels/norm.h"

#include "kernels/elementwise_convert.h"

namespace kernelet::KERNELET_ISA {
namespace {

// Sum of fn(x) over a row, in an order of its own that depends on the size alone.
template <class X, class F>
inline Wide<X> sum_of(const X* x, int64_t size, F&& fn) {
  using V = VecOf<X>;
  constexpr int kSums = 4;
  V sums[kSums] = {};
  int64_t i = 0;
  for (; i + kSums * kWideLanes<X> <= size; i += kSums * kWideLanes<X>)
    for (int k = 0; k < kSums; ++k) sums[k] += fn(load(x + i + k * kWideLanes<X>));
  each_vector<X>(size - i, [&](int64_t j, int n) {
    const V part = fn(widen(x + i + j, n));
    for (int lane = 0; lane < n; ++lane) sums[0][lane] += part[lane];
  });
  return lane_sum((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

template <class X, class Y>
void rms(const NormRows& rows, int64_t from, int64_t to) {
  using W = Wide<Y>;
  const W* weight = static_cast<const W*>(rows.weight);
  for (int64_t row = from; row < to; ++row) {
    const X* x = static_cast<const X*>(rows.x) + row * rows.x_stride;
    Y* y = static_cast<Y*>(rows.y) + row * rows.y_stride;
    const W mean = sum_of(x, rows.size, [](auto v) { return v * v; }) / static_cast<W>(rows.size);
    const W scale = W(1) / std::sqrt(mean + static_cast<W>(rows.eps));
    each_vector<Y>(rows.size, [&](int64_t i, int n) { narrow(y + i, widen(x + i, n) * scale * widen(weight + i, n), n); });
  }
}

template <class X, class Y>
void layer(const NormRows& rows, int64_t from, int64_t to) {
  using W = Wide<Y>;
  const W* weight = static_cast<const W*>(rows.weight);
  const W* bias = static_cast<const W*>(rows.bias);
  for (int64_t row = from; row < to; ++row) {
    const X* x = static_cast<const X*>(rows.x) + row * rows.x_stride;
    Y* y = static_cast<Y*>(rows.y) + row * rows.y_stride;
    const W mean = sum_of(x, rows.size, [](auto v) { return v; }) / static_cast<W>(rows.size);
    const W variance = sum_of(x, rows.size, [&](auto v) { return (v - mean) * (v - mean); }) / static_cast<W>(rows.size);
    const W scale = W(1) / std::sqrt(variance + static_cast<W>(rows.eps));
    each_vector<Y>(rows.size, [&](int64_t i, int n) {
      const auto normed = (widen(x + i, n) - mean) * scale * widen(weight + i, n);
      narrow(y + i, bias ? normed + widen(bias + i, n) : normed, n);
    });
  }
}

}  // namespace

NormKernels norm_kernels() {
  return {
      .rms = {rms<float, float>, rms<bf16, bf16>, rms<fp16, fp16>, rms<double, double>},
      .rms_of_wide = {rms<float, float>, rms<float, bf16>, rms<float, fp16>, rms<double, double>},
      .layer = {layer<float, float>, layer<bf16, bf16>, layer<fp16, fp16>, layer<double, double>},
      .layer_of_wide = {layer<float, float>, layer<float, bf16>, layer<float, fp16>, layer<double, double>},
  };
}

}  // namespace kernelet::KERNELET_ISA
