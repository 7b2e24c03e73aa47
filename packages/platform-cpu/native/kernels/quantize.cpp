#include "kernels/quantize.h"

#include "kernels/cache_elements.h"

namespace kernelet::KERNELET_ISA {

int64_t row_bytes(const IntFormat& format, Dtype dtype) {
  const bool wide = dtype == Dtype::float64, sums = format.zero == IntFormat::Zero::offsets && !wide;
  const int64_t inputs = format.padded();
  const int64_t bytes = format.whole_inputs() ? head_bytes(format) + inputs * (wide ? 1 : input_bytes(format.bits))
                                              : inputs * (wide ? 8 : 4) + (sums ? 4 * format.groups() : 0);
  return (bytes + 63) / 64 * 64;
}

namespace {

constexpr int64_t kChunk = 256;  // elements that are widened at a time

template <class S>
void widen_row(const S* x, int64_t count, Wide<S>* out) {
  each_vector<S>(count, [&](int64_t i, int lanes) {
    const VecOf<S> v = widen(x + i, lanes);
    std::memcpy(out + i, &v, static_cast<size_t>(lanes) * sizeof(Wide<S>));
  });
}

// max |x|; NaN where an element is NaN or infinite.
template <class S>
Wide<S> largest(const S* x, int64_t count) {
  using V = VecOf<S>;
  V most = {}, strange = {};
  each_vector<S>(count, [&](int64_t i, int lanes) {
    const V v = widen(x + i, lanes), size = v < 0 ? -v : v;
    most = size > most ? size : most;
    strange += v * 0;  // 0, or NaN
  });
  return lane_max(most) + lane_sum(strange);
}

// Nearest integers, ties to even, held to 127: adding 1.5 * 2^m makes the processor round at the units.
inline void round_all(const float* x, float scale, int64_t count, int32_t* out) {
  constexpr float magic = 0x1.8p23f;
  for (int64_t i = 0; i < count; ++i) {
    float v = x[i] / scale;
    v = v > 127 ? 127 : v;
    v = v < -127 ? -127 : v;
    v += magic;
    int32_t bits;
    std::memcpy(&bits, &v, 4);
    out[i] = bits - 0x4b400000;
  }
}
inline void round_all(const double* x, double scale, int64_t count, int32_t* out) {
  constexpr double magic = 0x1.8p52;
  for (int64_t i = 0; i < count; ++i) {
    double v = x[i] / scale;
    v = v > 127 ? 127 : v;
    v = v < -127 ? -127 : v;
    v += magic;
    out[i] = static_cast<int32_t>(v - magic);
  }
}

// `count` inputs, a multiple of 4.
inline void put(const int32_t* values, int64_t count, int bytes, uint8_t* out) {
  if (bytes == 1) {
    int8_t* to = reinterpret_cast<int8_t*>(out);
    for (int64_t i = 0; i < count; ++i) to[i] = static_cast<int8_t>(values[i]);
    return;
  }
  int16_t* to = reinterpret_cast<int16_t*>(out);
  for (int64_t i = 0; i < count; i += 4) {
    to[i] = static_cast<int16_t>(values[i]);
    to[i + 1] = static_cast<int16_t>(values[i + 2]);
    to[i + 2] = static_cast<int16_t>(values[i + 1]);
    to[i + 3] = static_cast<int16_t>(values[i + 3]);
  }
}

// The same of rows that need not be float64, a byte each, for `count` inputs; their sum.
template <class S>
int32_t round_bytes(const S* x, float scale, int64_t count, uint8_t* out) {
  vi sums = {};
  each_vector<S>(count, [&](int64_t i, int lanes) {
    const vi steps = (vi)to_bytes(widen(x + i, lanes) / splat(scale), static_cast<const int8_t*>(nullptr));
    put_bytes(out + i, (vu)steps, lanes);
    sums += steps;
  });
  return lane_sum(sums);
}

template <class S>
void round_row(const IntFormat& format, const S* x, uint8_t* row) {
  using W = Wide<S>;
  const W most = largest(x, format.inputs);
  W scale = format.round == IntFormat::Round::by_scale ? static_cast<W>(format.input_scale) + most * 0 : most / 127;
  const double held = scale;
  std::memcpy(row, &held, 8);
  const bool usable = scale > 0;  // a row of zeros, or one with NaN, has zeros for inputs
  int32_t* sums = reinterpret_cast<int32_t*>(row + 8);
  uint8_t* inputs = row + head_bytes(format);
  const int bytes = sizeof(W) == 8 ? 1 : input_bytes(format.bits);
  for (int64_t group = 0, start = 0; start < format.padded(); ++group, start += format.group) {
    const int64_t end = start + format.group < format.padded() ? start + format.group : format.padded();
    int32_t sum = 0;
    if constexpr (sizeof(W) == 4) {
      if (usable && bytes == 1) {
        const int64_t given = format.inputs < start ? 0 : format.inputs < end ? format.inputs - start : end - start;
        sums[group] = round_bytes(x + start, scale, given, inputs + start);
        std::memset(inputs + start + given, 0, static_cast<size_t>(end - start - given));
        continue;
      }
    }
    for (int64_t at = start; at < end; at += kChunk) {
      const int64_t stored = end - at < kChunk ? end - at : kChunk;
      const int64_t given = format.inputs - at < stored ? format.inputs - at : stored;
      W values[kChunk] = {};
      int32_t rounded[kChunk] = {};
      if (usable) {
        widen_row(x + at, given, values);
        round_all(values, scale, stored, rounded);
      }
      for (int64_t i = 0; i < stored; ++i) sum += rounded[i];
      put(rounded, stored, bytes, inputs + at * bytes);
    }
    sums[group] = sum;
  }
}

// The nearest number of an element type, ties to even; `x` is at most `most`, its largest.
template <int kMantissa, int kExponent>
inline float to_small_float(float x) {
  constexpr int kCut = 23 - kMantissa;
  uint32_t bits;
  std::memcpy(&bits, &x, 4);
  const uint32_t sign = bits & 0x80000000u;
  uint32_t normal = bits & 0x7fffffffu;
  normal = (normal + (1u << (kCut - 1)) - 1 + (normal >> kCut & 1)) >> kCut << kCut;
  constexpr uint32_t kMagic = static_cast<uint32_t>(127 + kExponent + kCut) << 23;  // its last bit is that of the least number
  float size, magic;
  const uint32_t plain = bits & 0x7fffffffu;
  std::memcpy(&size, &plain, 4);
  std::memcpy(&magic, &kMagic, 4);
  const float small = (size + magic) - magic;
  uint32_t least;
  std::memcpy(&least, &small, 4);
  const uint32_t found = sign | (plain < static_cast<uint32_t>(127 + kExponent) << 23 ? least : normal);
  float value;
  std::memcpy(&value, &found, 4);
  return value;
}

// Inputs become a scale times numbers of a small type; a row that is not finite becomes NaN.
template <class W>
void round_floats(const IntFormat& format, W* row) {
  using Round = IntFormat::Round;
  const bool four = format.round == Round::e4m3fn_by_row || format.round == Round::e4m3fn_by_scale;
  const bool held = format.round == Round::e4m3fn_by_scale || format.round == Round::e5m2_by_scale;
  const bool whole = format.round == Round::by_row || format.round == Round::by_scale;
  const W most = whole ? 127 : four ? 448 : 57344, found = largest(row, format.inputs);
  const W scale = held || format.round == Round::by_scale ? static_cast<W>(format.input_scale) + found * 0 : found / most;
  for (int64_t i = 0; i < format.inputs; ++i) {
    W steps = row[i] / scale;
    steps = steps > most ? most : steps < -most ? -most : steps;
    const float step = static_cast<float>(steps);
    if (whole)
      steps = sizeof(W) == 8 ? static_cast<W>((steps + W{0x1.8p52}) - W{0x1.8p52}) : static_cast<W>((step + 0x1.8p23f) - 0x1.8p23f);
    else
      steps = four ? to_small_float<3, -6>(step) : to_small_float<2, -14>(step);
    row[i] = scale == 0 ? 0 : steps * scale;
  }
}

template <class S>
void encode_as(const IntFormat& format, const S* x, uint8_t* row) {
  if (format.whole_inputs()) return round_row(format, x, row);
  using W = Wide<S>;
  W* out = reinterpret_cast<W*>(row);
  widen_row(x, format.inputs, out);
  if (format.round != IntFormat::Round::never) round_floats(format, out);
  for (int64_t i = format.inputs; i < format.padded(); ++i) out[i] = 0;
  if (sizeof(W) == 8 || format.zero != IntFormat::Zero::offsets) return;
  W* sums = out + format.padded();
  for (int64_t group = 0, start = 0; start < format.padded(); ++group, start += format.group) {
    const int64_t end = start + format.group < format.padded() ? start + format.group : format.padded();
    double sum = 0;
    for (int64_t i = start; i < end; ++i) sum += static_cast<double>(out[i]);
    sums[group] = static_cast<W>(sum);
  }
}

}  // namespace

void encode(const IntFormat& format, const void* x, Dtype dtype, uint8_t* row) {
  switch (dtype) {
    case Dtype::float32: return encode_as(format, static_cast<const float*>(x), row);
    case Dtype::bfloat16: return encode_as(format, static_cast<const bf16*>(x), row);
    case Dtype::float16: return encode_as(format, static_cast<const fp16*>(x), row);
    case Dtype::float64: return encode_as(format, static_cast<const double*>(x), row);
  }
}

}  // namespace kernelet::KERNELET_ISA
