// Gate of a feed-forward network: activation of the first half of each row times its second half.
//
// Names and formulas are those of kernelet.layers.activation. Each element is computed in the dtype of the input, and by
// itself, so that no row depends on another.

#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>
#include <torch/headeronly/core/ScalarType.h>
#include <torch/headeronly/util/Exception.h>

#include <cmath>
#include <cstdint>
#include <string>

namespace {

using torch::headeronly::ScalarType;
using torch::stable::Tensor;

constexpr int64_t kElementsPerThread = 16384;

template <typename T>
T silu(T x) {
  return x / (T(1) + std::exp(-x));
}

template <typename T>
T gelu(T x) {
  return x * T(0.5) * std::erfc(x * T(-0.70710678118654752440));  // 1 + erf(-y) has no digits left for a large y
}

template <typename T>
T gelu_tanh(T x) {
  const T inner = T(0.79788456080286535588) * (x + T(0.044715) * x * x * x);
  return x / (T(1) + std::exp(T(-2) * inner));  // x / 2 (1 + tanh(inner))
}

template <typename T>
T relu(T x) {
  return x < T(0) ? T(0) : x;  // keeps NaN
}

template <typename T>
T relu2(T x) {
  return relu(x) * relu(x);
}

template <typename T>
T quick_gelu(T x) {
  return x / (T(1) + std::exp(T(-1.702) * x));
}

template <typename T, T (*activation)(T)>
void compute(const T* x, T* y, int64_t rows, int64_t width) {
  const int64_t grain = kElementsPerThread / (width + 1) + 1;
  torch::stable::parallel_for(0, rows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const T* gate = x + row * 2 * width;
      const T* up = gate + width;
      T* out = y + row * width;
      for (int64_t i = 0; i < width; ++i) {
        out[i] = activation(gate[i]) * up[i];
      }
    }
  });
}

template <typename T>
void dispatch(const std::string& name, const T* x, T* y, int64_t rows, int64_t width) {
  if (name == "silu") return compute<T, silu<T>>(x, y, rows, width);
  if (name == "gelu") return compute<T, gelu<T>>(x, y, rows, width);
  if (name == "gelu_tanh") return compute<T, gelu_tanh<T>>(x, y, rows, width);
  if (name == "relu") return compute<T, relu<T>>(x, y, rows, width);
  if (name == "relu2") return compute<T, relu2<T>>(x, y, rows, width);
  if (name == "quick_gelu") return compute<T, quick_gelu<T>>(x, y, rows, width);
  STD_TORCH_CHECK(false, "act_and_mul: no activation is named '", name, "'");
}

Tensor act_and_mul(const Tensor& input, std::string name) {
  STD_TORCH_CHECK(input.dim() == 2, "act_and_mul: expected [rows, 2 n], got ", input.dim(), " dimensions");
  STD_TORCH_CHECK(input.size(1) % 2 == 0, "act_and_mul: rows of ", input.size(1), " elements have no two halves");
  const Tensor x = torch::stable::contiguous(input);
  const int64_t rows = x.size(0), width = x.size(1) / 2;
  Tensor y = torch::stable::new_empty(x, {rows, width});
  if (x.scalar_type() == ScalarType::Float) {
    dispatch(name, static_cast<const float*>(x.const_data_ptr()), static_cast<float*>(y.mutable_data_ptr()), rows, width);
  } else if (x.scalar_type() == ScalarType::Double) {
    dispatch(name, static_cast<const double*>(x.const_data_ptr()), static_cast<double*>(y.mutable_data_ptr()), rows, width);
  } else {
    STD_TORCH_CHECK(false, "act_and_mul: serves float32 and float64");
  }
  return y;
}

}  // namespace

STABLE_TORCH_LIBRARY(acme_platform, m) {
  m.def("act_and_mul(Tensor x, str name) -> Tensor");
}

STABLE_TORCH_LIBRARY_IMPL(acme_platform, CPU, m) {
  m.impl("act_and_mul", TORCH_BOX(&act_and_mul));
}
