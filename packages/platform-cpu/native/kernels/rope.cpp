#include "kernels/rope.h"

#include "kernels/elementwise_convert.h"
#include "kernels/norm.h"

namespace kernelet::KERNELET_ISA {

NormKernels norm_kernels();

namespace {

template <class S>
constexpr Dtype kDtype = Dtype::float32;
template <>
constexpr Dtype kDtype<bf16> = Dtype::bfloat16;
template <>
constexpr Dtype kDtype<fp16> = Dtype::float16;
template <>
constexpr Dtype kDtype<double> = Dtype::float64;

// x * cos + (x with the elements of each pair swapped) * sin.
template <class S>
void rotate(S* x, const Rotation& rotation, int64_t token, Wide<S>* held) {
  using W = Wide<S>;
  const W* cos = static_cast<const W*>(rotation.cos) + token * rotation.stride;
  const W* sin = static_cast<const W*>(rotation.sin) + token * rotation.stride;
  const int64_t size = rotation.size, half = size / 2;
  W* swapped = held + size;
  each_vector<S>(size, [&](int64_t i, int n) { narrow(held + i, widen(x + i, n), n); });
  if (rotation.interleaved)
    for (int64_t i = 0; i < size; ++i) swapped[i] = held[i ^ 1];
  else
    for (int64_t i = 0; i < half; ++i) {
      swapped[i] = held[half + i];
      swapped[half + i] = held[i];
    }
  each_vector<S>(size, [&](int64_t i, int n) {
    narrow(x + i, fmadd(widen(swapped + i, n), widen(sin + i, n), widen(held + i, n) * widen(cos + i, n)), n);
  });
}

template <class S>
void heads(const HeadRows& rows, int64_t from, int64_t to) {
  const int64_t elements = 2 * (rows.rotation.cos ? rows.rotation.size : 0) + 1;
  auto* held = static_cast<Wide<S>*>(__builtin_alloca(static_cast<size_t>(elements) * sizeof(Wide<S>)));
  const NormKernels norms = norm_kernels();
  for (int64_t token = from; token < to; ++token) {
    S* x = static_cast<S*>(rows.x) + token * rows.token_stride;
    if (rows.weight) {
      const NormRows normed = {x, rows.head_stride, x, rows.head_stride, rows.size, rows.weight, nullptr, rows.eps};
      norms.rms[static_cast<int>(kDtype<S>)](normed, 0, rows.heads);
    }
    if (rows.rotation.cos)
      for (int64_t head = 0; head < rows.heads; ++head) rotate(x + head * rows.head_stride, rows.rotation, token, held);
  }
}

template <class S>
void write(const CacheRows& rows, int64_t from, int64_t to) {
  const int64_t size = rows.size, tokens = rows.block_size, page_size = 2 * size * tokens;
  for (int64_t token = from; token < to; ++token) {
    const int64_t slot = rows.slots[token], block = slot / tokens, offset = slot % tokens;
    for (int64_t head = 0; head < rows.kv_heads; ++head) {
      const S* key = static_cast<const S*>(rows.key) + token * rows.key_stride + head * size;
      const S* value = static_cast<const S*>(rows.value) + token * rows.value_stride + head * size;
      S* page = static_cast<S*>(rows.cache) + (block * rows.kv_heads + head) * page_size;
      for (int64_t d = 0; d < size; ++d) page[d * tokens + offset] = key[d];
      std::memcpy(page + size * tokens + offset * size, value, static_cast<size_t>(size) * sizeof(S));
    }
  }
}

}  // namespace

RopeKernels rope_kernels() {
  return {
      .heads = {heads<float>, heads<bf16>, heads<fp16>, heads<double>},
      .write = {write<float>, write<bf16>, write<fp16>, write<double>},
  };
}

}  // namespace kernelet::KERNELET_ISA
