// Inputs as they are: elements less their zero points are multiplied in float32, a group's sum is one chain of fused
// multiply-adds along its inputs, and is then scaled and added, in the order of the groups, and then its offset.
#include "kernels/linear_int_layout.h"

namespace kernelet::KERNELET_ISA {
namespace {

#if defined(__AVX512F__)
constexpr int kRows = 12;
#else
constexpr int kRows = 6;
#endif

struct Zeros {
  vf of[kVectors];
};

inline Zeros zeros_of(const IntFormat& format, const Group& group) {
  Zeros zeros;
  for (int v = 0; v < kVectors; ++v) {
    zeros.of[v] = splat(static_cast<float>(format.origin));
    if (format.zero == IntFormat::Zero::bytes) zeros.of[v] = to_floats(to_words(group.zeros + v * kLanes));
    if (format.zero == IntFormat::Zero::floats) zeros.of[v] = load(reinterpret_cast<const float*>(group.zeros) + v * kLanes);
  }
  return zeros;
}

// Eight inputs of a stretch's elements: those of a granule from input `first` on.
struct Eight {
  const uint8_t* granule;
  int first;
};

template <int kKind>
inline Eight eight_at(const uint8_t* elements, int64_t input) {
  constexpr int64_t kGranule = granule_of(bits_of(kKind));
  return {elements + input / kGranule * kGranule * bits_of(kKind) / 8 * kPanel, static_cast<int>(input % kGranule)};
}

// Elements of input k of eight, for the outputs of vector v.
template <int kKind>
inline vf weight(const Eight& eight, int k, int v, const Zeros& zeros) {
  if constexpr (kKind > 8) return small_floats<kKind>(eight.granule + k * kPanel + v * kLanes);
  if constexpr (kKind == 8) return to_floats(to_words(eight.granule + k * kPanel + v * kLanes)) - zeros.of[v];
  if constexpr (kKind == 4) {
    const vu both = (vu)load_words(eight.granule + v * kVectorBytes);
    return to_floats((vi)((both >> (k % 4 * 8 + k / 4 * 4)) & 15u)) - zeros.of[v];
  }
  const vu bytes = four<bits_of(kKind)>(eight.granule, eight.first / 4 + k / 4, v);
  return to_floats((vi)(bytes >> (k % 4 * 8) & 255u)) - zeros.of[v];
}

// Adds a group's sum to the total of its outputs.
inline vf add_group(const IntFormat& format, const Levels& levels, int v, vf sum, float inputs, vf total) {
  total = fmadd(sum, levels.scales[v], total);
  return format.zero == IntFormat::Zero::offsets ? fmadd(levels.offsets[v], splat(inputs), total) : total;
}

// The sum of a group's inputs, which offsets are multiplied with.
inline float sum_of(const IntFormat& format, const float* row, int64_t group) {
  return format.zero == IntFormat::Zero::offsets ? row[format.padded() + group] : 0;
}

template <int kCount, int kKind>
void tile(const IntFormat& format, const uint8_t* packed, const uint8_t* encoded, int64_t stride, int64_t ahead, float* out) {
  constexpr int64_t kEight = kPanel * bits_of(kKind);
  const float* rows = reinterpret_cast<const float*>(encoded);
  vf totals[kCount][kVectors] = {};
  Groups groups(format, packed);
  for (int64_t g = 0; !groups.done(); ++g) {
    const Group group = groups.next();
    const Zeros zeros = zeros_of(format, group);
    const float* inputs = rows + group.start;
    vf sums[kCount][kVectors] = {};
    for (int64_t k = 0; k < group.size; k += 8) {
      const Eight eight = eight_at<kKind>(group.elements, group.first + k);
      ask_for<kEight>(group.elements + (group.first + k) / 8 * kEight + ahead);
      vf w[8][kVectors];
#pragma GCC unroll 8
      for (int i = 0; i < 8; ++i)
        for (int v = 0; v < kVectors; ++v) w[i][v] = weight<kKind>(eight, i, v, zeros);
#pragma GCC unroll 8
      for (int i = 0; i < 8; ++i)
#pragma GCC unroll 16
        for (int r = 0; r < kCount; ++r) {
          const vf x = splat(inputs[r * stride + k + i]);
          for (int v = 0; v < kVectors; ++v) sums[r][v] = fmadd(w[i][v], x, sums[r][v]);
        }
    }
    Levels levels;
    levels_of(format, group, levels);
    for (int v = 0; v < kVectors; ++v)
      for (int r = 0; r < kCount; ++r)
        totals[r][v] = add_group(format, levels, v, sums[r][v], sum_of(format, rows + r * stride, g), totals[r][v]);
  }
  for (int r = 0; r < kCount; ++r)
    for (int v = 0; v < kVectors; ++v) store(out + r * kPanel + v * kLanes, totals[r][v]);
}

// One row of kPanels panels, `between` bytes apart: a panel alone waits for its own sums.
template <int kPanels, int kKind>
void row(const IntFormat& format, const uint8_t* packed, int64_t between, const uint8_t* encoded, int64_t ahead, float* out) {
  constexpr int64_t kEight = kPanel * bits_of(kKind);
  const float* inputs = reinterpret_cast<const float*>(encoded);
  vf totals[kPanels][kVectors] = {};
  Groups groups(format, packed);
  for (int64_t g = 0; !groups.done(); ++g) {
    Group group[kPanels] = {groups.next()};
    Zeros zeros[kPanels] = {zeros_of(format, group[0])};
    for (int p = 1; p < kPanels; ++p) {
      group[p] = group[0];
      group[p].scales += p * between;
      group[p].zeros += p * between;
      group[p].elements += p * between;
      if (group[p].coarse) group[p].coarse += p * between;
      zeros[p] = zeros_of(format, group[p]);
    }
    vf sums[kPanels][kVectors] = {};
    for (int64_t k = 0; k < group[0].size; k += 8) {
      Eight eight[kPanels];
      for (int p = 0; p < kPanels; ++p) {
        eight[p] = eight_at<kKind>(group[p].elements, group[p].first + k);
        ask_for<kEight>(group[p].elements + (group[p].first + k) / 8 * kEight + ahead);
      }
#pragma GCC unroll 8
      for (int i = 0; i < 8; ++i) {
        const vf x = splat(inputs[group[0].start + k + i]);
#pragma GCC unroll 4
        for (int p = 0; p < kPanels; ++p)
          for (int v = 0; v < kVectors; ++v) sums[p][v] = fmadd(weight<kKind>(eight[p], i, v, zeros[p]), x, sums[p][v]);
      }
    }
    for (int p = 0; p < kPanels; ++p) {
      Levels levels;
      levels_of(format, group[p], levels);
      for (int v = 0; v < kVectors; ++v)
        totals[p][v] = add_group(format, levels, v, sums[p][v], sum_of(format, inputs, g), totals[p][v]);
    }
  }
  for (int p = 0; p < kPanels; ++p)
    for (int v = 0; v < kVectors; ++v) store(out + p * kPanel + v * kLanes, totals[p][v]);
}

}  // namespace

void multiply_floats(const IntFormat& format, const uint8_t* packed, const uint8_t* encoded, int64_t rows, int64_t ahead,
                     float* out) {
  const int64_t bytes = row_bytes(format, Dtype::float32);
  with_kind(format, [&](auto kind) {
    constexpr int kKind = decltype(kind)::value;
    in_tiles<largest_tile(kKind, kRows)>(rows, [&](auto count, int64_t done) {
      tile<decltype(count)::value, kKind>(format, packed, encoded + done * bytes, bytes / 4, ahead, out + done * kPanel);
    });
  });
}

void multiply_row(const IntFormat& format, const uint8_t* packed, int64_t between, int64_t panels, const uint8_t* encoded,
                  int64_t ahead, float* out) {
  with_kind(format, [&](auto kind) {
    constexpr int kKind = decltype(kind)::value;
    if (panels == kTogether)
      row<kTogether, kKind>(format, packed, between, encoded, ahead, out);
    else
      row<1, kKind>(format, packed, between, encoded, ahead, out);
  });
}

}  // namespace kernelet::KERNELET_ISA
