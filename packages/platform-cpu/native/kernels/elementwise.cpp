#include "kernels/elementwise.h"

#include "kernels/elementwise_math.h"

namespace kernelet::KERNELET_ISA {
namespace {

template <class X, class Y>
void add(const AddCall& call, int64_t from, int64_t to) {
  const X* x = static_cast<const X*>(call.x) + from;
  const Y* y = static_cast<const Y*>(call.y) + from;
  X* out = static_cast<X*>(call.out) + from;
  const auto scale = splat(static_cast<Wide<Y>>(call.scale));
  each_vector<Y>(to - from, [&](int64_t i, int n) { narrow(out + i, fmadd(scale, widen(y + i, n), widen(x + i, n)), n); });
}

template <Activation kind, class W, class V>
inline V value(V x) {
  if constexpr (kind == Activation::silu) return x / (1 + exp_of(-x));
  if constexpr (kind == Activation::gelu) return x * W(0.5) * (1 + erf_of(x * W(0.70710678118654752)));
  if constexpr (kind == Activation::gelu_tanh) {
    const V inner = (x + x * x * x * W(0.044715)) * W(0.79788456080286536);
    return x / (1 + exp_of(-2 * inner));  // x * (1 + tanh(inner)) / 2 without a difference of equals
  }
  if constexpr (kind == Activation::relu) return x < 0 ? V{} : x;  // NaN stays
  if constexpr (kind == Activation::relu2) return x < 0 ? V{} : x * x;
  if constexpr (kind == Activation::quick_gelu) return x / (1 + exp_of(x * W(-1.702)));
}

template <Activation kind, class S>
void activate_rows(const ActivationRows& rows, int64_t from, int64_t to) {
  for (int64_t row = from; row < to; ++row) {
    const S* x = static_cast<const S*>(rows.x) + row * rows.x_stride;
    S* y = static_cast<S*>(rows.y) + row * rows.size;
    if (rows.gated)
      each_vector<S>(rows.size, [&](int64_t i, int n) {
        narrow(y + i, value<kind, Wide<S>>(widen(x + i, n)) * widen(x + rows.size + i, n), n);
      });
    else
      each_vector<S>(rows.size, [&](int64_t i, int n) { narrow(y + i, value<kind, Wide<S>>(widen(x + i, n)), n); });
  }
}

template <class S>
void activate(const ActivationRows& rows, int64_t from, int64_t to) {
  switch (rows.kind) {
    case Activation::silu: return activate_rows<Activation::silu, S>(rows, from, to);
    case Activation::gelu: return activate_rows<Activation::gelu, S>(rows, from, to);
    case Activation::gelu_tanh: return activate_rows<Activation::gelu_tanh, S>(rows, from, to);
    case Activation::relu: return activate_rows<Activation::relu, S>(rows, from, to);
    case Activation::relu2: return activate_rows<Activation::relu2, S>(rows, from, to);
    case Activation::quick_gelu: return activate_rows<Activation::quick_gelu, S>(rows, from, to);
  }
}

}  // namespace

ElementwiseKernels elementwise_kernels() {
  return {
      .add = {add<float, float>, add<bf16, bf16>, add<fp16, fp16>, add<double, double>},
      .add_to_wide = {add<float, float>, add<float, bf16>, add<float, fp16>, add<double, double>},
      .activate = {activate<float>, activate<bf16>, activate<fp16>, activate<double>},
  };
}

}  // namespace kernelet::KERNELET_ISA
