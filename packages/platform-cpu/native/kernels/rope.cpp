#include "kernels/rope.h"

#include "kernels/cache_elements.h"
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

// A head of a token to elements E; the scale of an int8 row, else 1.
template <class S, class E>
float encode(const S* x, int64_t size, float scale, E* out) {
  if constexpr (std::is_same_v<S, E>) std::memcpy(out, x, static_cast<size_t>(size) * sizeof(S));
  if constexpr (std::is_same_v<E, e4m3>) encode_row(x, size, scale, out);
  if constexpr (kHasRowScales<E>) return encode_row(x, size, out);
  return 1;
}

template <class S, class E>
void write(const CacheRows& rows, int64_t from, int64_t to) {
  const int64_t size = rows.size, tokens = rows.block_size;
  E* held = static_cast<E*>(__builtin_alloca(static_cast<size_t>(size) * sizeof(E)));
  for (int64_t token = from; token < to; ++token) {
    const int64_t slot = rows.slots[token], block = slot / tokens, offset = slot % tokens;
    for (int64_t head = 0; head < rows.kv_heads; ++head) {
      const S* key = static_cast<const S*>(rows.key) + token * rows.key_stride + head * size;
      const S* value = static_cast<const S*>(rows.value) + token * rows.value_stride + head * size;
      char* start = static_cast<char*>(rows.cache) + (block * rows.kv_heads + head) * page_bytes<E>(size, tokens);
      E* page = reinterpret_cast<E*>(start);
      const float key_scale = encode(key, size, rows.key_scale, held);
      for (int64_t d = 0; d < size; ++d) page[d * tokens + offset] = held[d];
      const float value_scale = encode(value, size, rows.value_scale, page + (tokens + offset) * size);
      if constexpr (kHasRowScales<E>) {
        char* scales = start + 2 * size * tokens;
        std::memcpy(scales + offset * sizeof(float), &key_scale, sizeof(float));
        std::memcpy(scales + (tokens + offset) * sizeof(float), &value_scale, sizeof(float));
      }
    }
  }
}

}  // namespace

RopeKernels rope_kernels() {
  return {
      .heads = {heads<float>, heads<bf16>, heads<fp16>, heads<double>},
      .write = {{write<float, float>, write<bf16, bf16>, write<fp16, fp16>, write<double, double>},
                {write<float, e4m3>, write<bf16, e4m3>, write<fp16, e4m3>, write<double, e4m3>},
                {write<float, int8_t>, write<bf16, int8_t>, write<fp16, int8_t>, write<double, int8_t>}},
  };
}

}  // namespace kernelet::KERNELET_ISA
