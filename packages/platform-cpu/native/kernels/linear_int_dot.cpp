// Rounded inputs: products of int8 and unsigned weights are added in 32 bits, exactly; each group's sum is then scaled
// and added in float32, in the order of the groups.
#include "kernels/linear_int_layout.h"

namespace kernelet::KERNELET_ISA {
namespace {

#if defined(__AVX512F__)
constexpr int kRows = 12;
#else
constexpr int kRows = 4;
#endif

#if defined(__AVX512F__)
typedef __m512i Bits;
#elif defined(__AVX2__)
typedef __m256i Bits;
#endif

// The elements of a stretch, and the eights of inputs that are a group.
struct Eights {
  const uint8_t* elements;
  int64_t first, last;
};

// Half of the elements of an eight, a byte each: inputs 0 to 3 or 4 to 7, of the outputs of vector v.
template <int kBits>
inline vi half_of(const Eights& eights, int64_t i, int half, int v) {
  constexpr int64_t kIn = granule_of(kBits) / 8;  // a granule
  return (vi)four<kBits>(eights.elements + i / kIn * kIn * kPanel * kBits, static_cast<int>(i % kIn * 2 + half), v);
}

#if defined(__AVX512VNNI__)

template <int kCount, int kBits>
inline void dot(const Eights& eights, const uint8_t* const* inputs, int64_t ahead, vi (*sums)[kVectors]) {
  vi acc[kCount][kVectors];
  std::memcpy(acc, sums, sizeof acc);
  for (int64_t i = eights.first; i < eights.last; ++i) {
    ask_for<kPanel * kBits>(eights.elements + i * kPanel * kBits + ahead);
    for (int half = 0; half < 2; ++half) {
      vi w[kVectors];
      for (int v = 0; v < kVectors; ++v) w[v] = half_of<kBits>(eights, i, half, v);
#pragma GCC unroll 16
      for (int r = 0; r < kCount; ++r) {
        const vi x = splat_word(inputs[r] + (i - eights.first) * 8 + half * 4);
        for (int v = 0; v < kVectors; ++v) acc[r][v] = (vi)_mm512_dpbusd_epi32((Bits)acc[r][v], (Bits)w[v], (Bits)x);
      }
    }
  }
  std::memcpy(sums, acc, sizeof acc);
}

#else

// Sums of two products of 16 bits each.
inline vi multiply_pairs(vi a, vi b) {
#if defined(__AVX2__)
  return (vi)_mm256_madd_epi16((Bits)a, (Bits)b);
#elif defined(__SSE2__)
  return (vi)__builtin_ia32_pmaddwd128((short __attribute__((vector_size(16))))a, (short __attribute__((vector_size(16))))b);
#else
  return ((a << 16) >> 16) * ((b << 16) >> 16) + (a >> 16) * (b >> 16);
#endif
}

template <int kCount, int kBits>
inline void dot_pairs(const Eights& eights, const uint8_t* const* inputs, int64_t ahead, vi (*sums)[kVectors]) {
  vi acc[kCount][kVectors];
  std::memcpy(acc, sums, sizeof acc);
  for (int64_t i = eights.first; i < eights.last; ++i) {
    ask_for<kPanel * kBits>(eights.elements + i * kPanel * kBits + ahead);
    for (int half = 0; half < 2; ++half) {
      vi even[kVectors], odd[kVectors];
      for (int v = 0; v < kVectors; ++v) {
        const vu w = (vu)half_of<kBits>(eights, i, half, v);
        even[v] = (vi)(w & 0x00ff00ffu);
        odd[v] = (vi)((w >> 8) & 0x00ff00ffu);
      }
#pragma GCC unroll 16
      for (int r = 0; r < kCount; ++r) {
        const uint8_t* at = inputs[r] + ((i - eights.first) * 8 + half * 4) * 2;
        const vi x = splat_word(at), y = splat_word(at + 4);
        for (int v = 0; v < kVectors; ++v) acc[r][v] += multiply_pairs(even[v], x) + multiply_pairs(odd[v], y);
      }
    }
  }
  std::memcpy(sums, acc, sizeof acc);
}

#if defined(__AVX2__)
// Sums of two products fit 16 bits, of elements of few bits even several: 32767 / (2 * 127 * the largest element).
template <int kCount, int kBits>
inline void dot_bytes(const Eights& eights, const uint8_t* const* inputs, int64_t ahead, vi (*sums)[kVectors]) {
  constexpr int64_t kAtOnce = kBits <= 4 ? 4 : kBits == 5 ? 2 : 1;
  for (int64_t from = eights.first; from < eights.last; from += kAtOnce) {
    const int64_t to = from + kAtOnce < eights.last ? from + kAtOnce : eights.last;
    Bits acc[kCount][kVectors];
    for (int r = 0; r < kCount; ++r)
      for (int v = 0; v < kVectors; ++v) acc[r][v] = _mm256_setzero_si256();
    for (int64_t i = from; i < to; ++i) {
      ask_for<kPanel * kBits>(eights.elements + i * kPanel * kBits + ahead);
      for (int half = 0; half < 2; ++half) {
        Bits w[kVectors];
        for (int v = 0; v < kVectors; ++v) w[v] = (Bits)half_of<kBits>(eights, i, half, v);
#pragma GCC unroll 16
        for (int r = 0; r < kCount; ++r) {
          const Bits x = (Bits)splat_word(inputs[r] + (i - eights.first) * 8 + half * 4);
          for (int v = 0; v < kVectors; ++v) acc[r][v] = _mm256_add_epi16(acc[r][v], _mm256_maddubs_epi16(w[v], x));
        }
      }
    }
    for (int r = 0; r < kCount; ++r)
      for (int v = 0; v < kVectors; ++v) sums[r][v] += (vi)_mm256_madd_epi16(acc[r][v], _mm256_set1_epi16(1));
  }
}
#endif

template <int kCount, int kBits>
inline void dot(const Eights& eights, const uint8_t* const* inputs, int64_t ahead, vi (*sums)[kVectors]) {
#if defined(__AVX2__)
  if constexpr (kBits < 8)
    dot_bytes<kCount, kBits>(eights, inputs, ahead, sums);
  else
#endif
    dot_pairs<kCount, kBits>(eights, inputs, ahead, sums);
}

#endif

// What the sum of a group starts with: the part that zero points have in it, where they are integers.
inline vi first(const IntFormat& format, const Group& group, int32_t sum, int v) {
  if (format.zero == IntFormat::Zero::floats) return vi{};
  if (format.zero != IntFormat::Zero::bytes) return vi{} - format.origin * sum;
  return to_words(group.zeros + v * kLanes) * (vi{} - sum);
}

template <int kCount, int kBits>
void tile(const IntFormat& format, const uint8_t* packed, const uint8_t* encoded, int64_t stride, int64_t ahead,
          float* out) {
  RoundedRow rows[kCount];
  for (int r = 0; r < kCount; ++r) rows[r] = rounded_row(format, encoded + r * stride);
  vf totals[kCount][kVectors] = {};
  Groups groups(format, packed);
  for (int64_t g = 0; !groups.done(); ++g) {
    const Group group = groups.next();
    vi sums[kCount][kVectors];
    const uint8_t* inputs[kCount];
    for (int r = 0; r < kCount; ++r) {
      inputs[r] = rows[r].inputs + group.start * input_bytes(kBits);
      for (int v = 0; v < kVectors; ++v) sums[r][v] = first(format, group, rows[r].sums[g], v);
    }
    dot<kCount, kBits>({group.elements, group.first / 8, (group.first + group.size) / 8}, inputs, ahead, sums);
    Levels levels;
    levels_of(format, group, levels);
    for (int v = 0; v < kVectors; ++v) {
      for (int r = 0; r < kCount; ++r) {
        vf sum = to_floats(sums[r][v]);
        if (format.zero == IntFormat::Zero::floats) {
          const vf zero = load(reinterpret_cast<const float*>(group.zeros) + v * kLanes);
          sum = fmadd(-zero, splat(static_cast<float>(rows[r].sums[g])), sum);
        }
        totals[r][v] = fmadd(sum, levels.scales[v], totals[r][v]);
        if (format.zero == IntFormat::Zero::offsets)
          totals[r][v] = fmadd(levels.offsets[v], splat(static_cast<float>(rows[r].sums[g])), totals[r][v]);
      }
    }
  }
  for (int r = 0; r < kCount; ++r)
    for (int v = 0; v < kVectors; ++v)
      store(out + r * kPanel + v * kLanes, totals[r][v] * splat(static_cast<float>(rows[r].scale)));
}

}  // namespace

void multiply_rounded(const IntFormat& format, const uint8_t* packed, const uint8_t* encoded, int64_t rows, int64_t ahead,
           float* out) {
  const int64_t stride = row_bytes(format, Dtype::float32);
  with_kind(format, [&](auto kind) {
    constexpr int kBits = decltype(kind)::value;
    if constexpr (kBits <= 8)
      in_tiles<largest_tile(kBits, kRows)>(rows, [&](auto count, int64_t done) {
        tile<decltype(count)::value, kBits>(format, packed, encoded + done * stride, stride, ahead, out + done * kPanel);
      });
  });
}

}  // namespace kernelet::KERNELET_ISA
