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

// Half of the elements of a vector's outputs, a byte each: inputs 0 to 3 or 4 to 7 of eight.
template <int kBits>
inline vi half_of(const uint8_t* eight, int half, int v) {
  if (kBits == 8) return load_words(eight + (half * kVectors + v) * kVectorBytes);
  const vu both = (vu)load_words(eight + v * kVectorBytes);
  return (vi)((half ? both >> 4 : both) & 0x0f0f0f0fu);
}

#if defined(__AVX512VNNI__)

template <int kBits>
constexpr int kInputBytes = 1;

template <int kCount, int kBits>
inline void dot(const uint8_t* elements, const uint8_t* const* inputs, int64_t eights, int64_t ahead, vi (*sums)[kVectors]) {
  vi acc[kCount][kVectors];
  std::memcpy(acc, sums, sizeof acc);
  for (int64_t i = 0; i < eights; ++i) {
    const uint8_t* eight = elements + i * kPanel * kBits;
    ask_for<kPanel * kBits>(eight + ahead);
    for (int half = 0; half < 2; ++half) {
      vi w[kVectors];
      for (int v = 0; v < kVectors; ++v) w[v] = half_of<kBits>(eight, half, v);
#pragma GCC unroll 16
      for (int r = 0; r < kCount; ++r) {
        const vi x = splat_word(inputs[r] + i * 8 + half * 4);
        for (int v = 0; v < kVectors; ++v) acc[r][v] = (vi)_mm512_dpbusd_epi32((Bits)acc[r][v], (Bits)w[v], (Bits)x);
      }
    }
  }
  std::memcpy(sums, acc, sizeof acc);
}

#else

template <int kBits>
#if defined(__AVX2__)
constexpr int kInputBytes = kBits == 4 ? 1 : 2;
#else
constexpr int kInputBytes = 2;
#endif

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
inline void dot_pairs(const uint8_t* elements, const uint8_t* const* inputs, int64_t eights, int64_t ahead, vi (*sums)[kVectors]) {
  vi acc[kCount][kVectors];
  std::memcpy(acc, sums, sizeof acc);
  for (int64_t i = 0; i < eights; ++i) {
    const uint8_t* eight = elements + i * kPanel * kBits;
    ask_for<kPanel * kBits>(eight + ahead);
    for (int half = 0; half < 2; ++half) {
      vi even[kVectors], odd[kVectors];
      for (int v = 0; v < kVectors; ++v) {
        const vu w = (vu)half_of<kBits>(eight, half, v);
        even[v] = (vi)(w & 0x00ff00ffu);
        odd[v] = (vi)((w >> 8) & 0x00ff00ffu);
      }
#pragma GCC unroll 16
      for (int r = 0; r < kCount; ++r) {
        const uint8_t* at = inputs[r] + (i * 8 + half * 4) * 2;
        const vi x = splat_word(at), y = splat_word(at + 4);
        for (int v = 0; v < kVectors; ++v) acc[r][v] += multiply_pairs(even[v], x) + multiply_pairs(odd[v], y);
      }
    }
  }
  std::memcpy(sums, acc, sizeof acc);
}

#if defined(__AVX2__)
// Of 4 bits a pair of products is at most 2 * 15 * 127, of which 8 fit 16 bits.
template <int kCount>
inline void dot_nibbles(const uint8_t* elements, const uint8_t* const* inputs, int64_t eights, int64_t ahead, vi (*sums)[kVectors]) {
  for (int64_t from = 0; from < eights; from += 4) {
    const int64_t to = from + 4 < eights ? from + 4 : eights;
    Bits acc[kCount][kVectors];
    for (int r = 0; r < kCount; ++r)
      for (int v = 0; v < kVectors; ++v) acc[r][v] = _mm256_setzero_si256();
    for (int64_t i = from; i < to; ++i) {
      ask_for<kPanel * 4>(elements + i * kPanel * 4 + ahead);
      for (int half = 0; half < 2; ++half) {
        Bits w[kVectors];
        for (int v = 0; v < kVectors; ++v) w[v] = (Bits)half_of<4>(elements + i * kPanel * 4, half, v);
#pragma GCC unroll 16
        for (int r = 0; r < kCount; ++r) {
          const Bits x = (Bits)splat_word(inputs[r] + i * 8 + half * 4);
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
inline void dot(const uint8_t* elements, const uint8_t* const* inputs, int64_t eights, int64_t ahead, vi (*sums)[kVectors]) {
#if defined(__AVX2__)
  if constexpr (kBits == 4)
    dot_nibbles<kCount>(elements, inputs, eights, ahead, sums);
  else
#endif
    dot_pairs<kCount, kBits>(elements, inputs, eights, ahead, sums);
}

#endif

// What the sum of a group starts with: the part that zero points have in it, where they are integers.
inline vi first(const IntFormat& format, const Group& group, int32_t sum, int v) {
  if (format.zero == IntFormat::Zero::floats) return vi{};
  if (format.zero == IntFormat::Zero::constant) return vi{} - format.origin * sum;
  return to_words(group.zeros + v * kLanes) * (vi{} - sum);
}

template <int kCount, int kBits>
void tile(const IntFormat& format, const uint8_t* packed, const uint8_t* encoded, int64_t stride, int64_t ahead,
          float* out) {
  RoundedRow rows[kCount];
  for (int r = 0; r < kCount; ++r) rows[r] = rounded_row(format, encoded + r * stride);
  vf totals[kCount][kVectors] = {};
  for (int64_t g = 0, start = 0; start < format.padded(); ++g, start += format.group) {
    const Group group = group_at(format, packed, start);
    packed = group.end;
    vi sums[kCount][kVectors];
    const uint8_t* inputs[kCount];
    for (int r = 0; r < kCount; ++r) {
      inputs[r] = rows[r].inputs + start * kInputBytes<kBits>;
      for (int v = 0; v < kVectors; ++v) sums[r][v] = first(format, group, rows[r].sums[g], v);
    }
    dot<kCount, kBits>(group.elements, inputs, group.size / 8, ahead, sums);
    for (int v = 0; v < kVectors; ++v) {
      const vf scale = load(group.scales + v * kLanes);
      for (int r = 0; r < kCount; ++r) {
        vf sum = to_floats(sums[r][v]);
        if (format.zero == IntFormat::Zero::floats) {
          const vf zero = load(reinterpret_cast<const float*>(group.zeros) + v * kLanes);
          sum = fmadd(-zero, splat(static_cast<float>(rows[r].sums[g])), sum);
        }
        totals[r][v] = fmadd(sum, scale, totals[r][v]);
      }
    }
  }
  for (int r = 0; r < kCount; ++r)
    for (int v = 0; v < kVectors; ++v)
      store(out + r * kPanel + v * kLanes, totals[r][v] * splat(static_cast<float>(rows[r].scale)));
}

template <int kBits>
void tiles(const IntFormat& format, const uint8_t* packed, const uint8_t* encoded, int64_t rows, int64_t ahead,
           float* out) {
  const int64_t stride = row_bytes(format, Dtype::float32);
  in_tiles<kRows>(rows, [&](auto count, int64_t done) {
    tile<decltype(count)::value, kBits>(format, packed, encoded + done * stride, stride, ahead,
                                        out + done * kPanel);
  });
}

}  // namespace

void multiply_rounded(const IntFormat& format, const uint8_t* packed, const uint8_t* encoded, int64_t rows, int64_t ahead,
           float* out) {
  (format.bits == 8 ? tiles<8> : tiles<4>)(format, packed, encoded, rows, ahead, out);
}

}  // namespace kernelet::KERNELET_ISA
