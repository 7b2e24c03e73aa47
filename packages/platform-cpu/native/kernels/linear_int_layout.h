// The layout of a panel in this instruction set.
#pragma once

#include <type_traits>

#include "kernels/linear_int.h"
#include "kernels/vec.h"

namespace kernelet::KERNELET_ISA {

constexpr int kVectors = 2;  // of columns in a panel
constexpr int kPanel = kVectors * kLanes;

// Kinds of elements that kernels are compiled for: bits, and two small floats.
constexpr int kE4m3fn = 43, kE5m2 = 52;
constexpr int bits_of(int kind) { return kind > 8 ? 8 : kind; }
constexpr int64_t granule_of(int bits) { return bits == 4 || bits == 8 ? 8 : bits % 2 ? 32 : 16; }

// One group of a panel.
struct Group {
  int64_t start, size;      // inputs, padded
  const uint8_t* scales;
  const uint8_t* zeros;     // or offsets
  const uint8_t* coarse;    // scales of the block, then its offsets
  const uint8_t* elements;  // of the stretch
  int64_t first;            // input of the stretch with which the group begins
};

// The groups of a panel, one after the other.
class Groups {
 public:
  Groups(const IntFormat& format, const uint8_t* panel)
      : format_(format), padded_(format.padded()), stretch_(format.stretch()), at_(panel) {
    constexpr int kSizes[] = {4, 2, 1, 1, 1};
    scale_bytes_ = kSizes[static_cast<int>(format.scale)] * kPanel;
    const int64_t zeros[] = {0, kPanel, 4 * kPanel, format.scale == IntFormat::Scale::nibbles ? 0 : scale_bytes_};
    head_ = scale_bytes_ + zeros[static_cast<int>(format.zero)];
    const int64_t coarse[] = {0, 4 * kPanel, 2 * kPanel};
    coarse_bytes_ = coarse[static_cast<int>(format.coarse)] * (format.zero == IntFormat::Zero::offsets ? 2 : 1);
  }

  bool done() const { return start_ >= padded_; }

  Group next() {
    if (start_ == stretch_end_) enter();
    const int64_t size = padded_ - start_ < format_.group ? padded_ - start_ : format_.group;
    const Group group = {start_, size, heads_, heads_ + scale_bytes_, coarse_, elements_, start_ - stretch_start_};
    heads_ += head_;
    start_ += size;
    return group;
  }

  // Past the last group: where the panel ends.
  const uint8_t* end() const { return at_; }

 private:
  void enter() {
    const int64_t size = padded_ - start_ < stretch_ ? padded_ - start_ : stretch_, granule = granule_of(format_.bits);
    if (format_.coarse != IntFormat::Coarse::none && start_ == block_end_) {
      coarse_ = at_;
      at_ += coarse_bytes_;
      block_end_ += format_.block;
    }
    heads_ = at_;
    elements_ = at_ + (size <= format_.group ? 1 : (size + format_.group - 1) / format_.group) * head_;
    at_ = elements_ + (size + granule - 1) / granule * granule * format_.bits / 8 * kPanel;
    stretch_start_ = start_;
    stretch_end_ = start_ + size;
  }

  const IntFormat& format_;
  int64_t padded_, stretch_, scale_bytes_, head_, coarse_bytes_;
  int64_t start_ = 0, stretch_start_ = 0, stretch_end_ = 0, block_end_ = 0;
  const uint8_t* at_;
  const uint8_t* coarse_ = nullptr;
  const uint8_t* heads_ = nullptr;
  const uint8_t* elements_ = nullptr;
};

inline vi load_words(const uint8_t* p) { return *reinterpret_cast<const vi*>(p); }
inline vi splat_word(const uint8_t* p) { return vi{} + *reinterpret_cast<const int32_t __attribute__((may_alias, aligned(4)))*>(p); }
inline vf to_floats(vi v) { return __builtin_convertvector(v, vf); }
inline vi to_words(const uint8_t* bytes) {
#if defined(__AVX512F__)
  return (vi)_mm512_maskz_cvtepu8_epi32(kAll, _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes)));
#elif defined(__AVX2__)
  return (vi)_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(bytes)));
#else
  typedef uint8_t vb __attribute__((vector_size(kLanes), aligned(1), may_alias));
  return __builtin_convertvector(*reinterpret_cast<const vb*>(bytes), vi);
#endif
}

// Small floats; of e4m3fn 1/256 of the number.
template <int kKind>
inline vf small_floats(const uint8_t* bytes) {
  typedef int8_t vb __attribute__((vector_size(kLanes), aligned(1), may_alias));
  typedef int16_t vs __attribute__((vector_size(2 * kLanes), aligned(2), may_alias));
  fp16 halves[kLanes];
  const vs wide = __builtin_convertvector(*reinterpret_cast<const vb*>(bytes), vs);
  *reinterpret_cast<vs*>(halves) = kKind == kE4m3fn ? (wide << 7) & static_cast<int16_t>(0xbf80) : wide << 8;
  return load(halves);
}

// Four inputs of each output of vector v, a byte each; `quad` counts them in a granule.
template <int kBits>
inline vu four(const uint8_t* granule, int quad, int v) {
  const auto plane = [&](int index) { return (vu)load_words(granule + (index * kVectors + v) * kVectorBytes); };
  const auto nibbles = [&](int first) { return plane(first + quad / 2) >> (quad % 2 * 4) & 0x0f0f0f0fu; };
  const auto pairs = [&](int first) { return plane(first + quad / 4) >> (quad % 4 * 2) & 0x03030303u; };
  const auto bits = [&] { return plane(0) >> quad & 0x01010101u; };
  if constexpr (kBits == 2) return pairs(0);
  if constexpr (kBits == 3) return pairs(1) | bits() << 2;
  if constexpr (kBits == 4) return nibbles(0);
  if constexpr (kBits == 5) return nibbles(1) | bits() << 4;
  if constexpr (kBits == 6) return nibbles(1) | pairs(0) << 4;
  return plane(quad);
}

// What a group's sums are multiplied with, and what its inputs are, where `zero` says offsets.
struct Levels {
  vf scales[kVectors], offsets[kVectors];
};

// Of the outputs of vector v: fine scales (or offsets), and those of the block.
inline vf fine_level(const IntFormat& format, const uint8_t* at, int v, bool offsets) {
  switch (format.scale) {
    case IntFormat::Scale::floats: return load(reinterpret_cast<const float*>(at) + v * kLanes);
    case IntFormat::Scale::halves: return load(reinterpret_cast<const fp16*>(at) + v * kLanes);
    case IntFormat::Scale::bytes: return to_floats(to_words(at + v * kLanes));
    case IntFormat::Scale::signed_bytes: return to_floats(to_words(at + v * kLanes) << 24 >> 24);
    case IntFormat::Scale::nibbles: break;
  }
  const vi both = to_words(at + v * kLanes);
  return to_floats(offsets ? both >> 4 : both & 15);
}

inline vf coarse_level(const IntFormat& format, const uint8_t* at, int v, bool offsets) {
  const int place = (offsets ? kPanel : 0) + v * kLanes;
  if (format.coarse == IntFormat::Coarse::floats) return load(reinterpret_cast<const float*>(at) + place);
  return load(reinterpret_cast<const fp16*>(at) + place);
}

inline const uint8_t* offsets_at(const IntFormat& format, const Group& group) {
  return format.scale == IntFormat::Scale::nibbles ? group.scales : group.zeros;
}

// One decision a group, whatever the vectors.
template <class Fine>
inline void read_levels(const IntFormat& format, const Group& group, Levels& levels, Fine&& fine) {
  const bool offsets = format.zero == IntFormat::Zero::offsets;
  for (int v = 0; v < kVectors; ++v) {
    levels.scales[v] = fine(group.scales, v, false);
    if (offsets) levels.offsets[v] = fine(offsets_at(format, group), v, true);
  }
  if (format.coarse == IntFormat::Coarse::none) return;
  for (int v = 0; v < kVectors; ++v) {
    levels.scales[v] *= coarse_level(format, group.coarse, v, false);
    if (offsets) levels.offsets[v] *= coarse_level(format, group.coarse, v, true);
  }
}

[[gnu::noinline]] inline void levels_of_any(const IntFormat& format, const Group& group, Levels& levels) {
  switch (format.scale) {
    case IntFormat::Scale::bytes:
      return read_levels(format, group, levels,
                         [](const uint8_t* at, int v, bool) { return to_floats(to_words(at + v * kLanes)); });
    case IntFormat::Scale::signed_bytes:
      return read_levels(format, group, levels,
                         [](const uint8_t* at, int v, bool) { return to_floats(to_words(at + v * kLanes) << 24 >> 24); });
    default:
      return read_levels(format, group, levels, [&](const uint8_t* at, int v, bool offsets) {
        return fine_level(format, at, v, offsets);
      });
  }
}

inline void levels_of(const IntFormat& format, const Group& group, Levels& levels) {
  if (format.scale != IntFormat::Scale::halves || format.coarse != IntFormat::Coarse::none)
    return levels_of_any(format, group, levels);
  const fp16* halves = reinterpret_cast<const fp16*>(group.scales);
  for (int v = 0; v < kVectors; ++v) levels.scales[v] = load(halves + v * kLanes);
  if (format.zero != IntFormat::Zero::offsets) return;
  for (int v = 0; v < kVectors; ++v) levels.offsets[v] = load(halves + kPanel + v * kLanes);
}

// Bytes of a whole input in an encoded row. Instructions that multiply bytes take one; elsewhere 16-bit products are
// added in pairs, and inputs 0, 2, 1, 3 of four lie in this order.
constexpr int input_bytes(int bits) {
#if defined(__AVX512VNNI__)
  return bits ? 1 : 0;
#elif defined(__AVX2__)
  return bits < 8 ? 1 : 2;
#else
  return bits ? 2 : 0;
#endif
}

// An encoded row of whole numbers: a head with scale and sums, then the inputs, padded with zeros. One of floats: the
// inputs, padded with zeros; then the sum of each group where there are offsets.
struct RoundedRow {
  double scale;
  const int32_t* sums;  // of the inputs of each group
  const uint8_t* inputs;
};

inline int64_t head_bytes(const IntFormat& format) { return (8 + 4 * format.groups() + 63) / 64 * 64; }

inline RoundedRow rounded_row(const IntFormat& format, const uint8_t* row) {
  RoundedRow rounded;
  std::memcpy(&rounded.scale, row, 8);
  rounded.sums = reinterpret_cast<const int32_t*>(row + 8);
  rounded.inputs = row + head_bytes(format);
  return rounded;
}

int64_t row_bytes(const IntFormat& format, Dtype dtype);

// tile(count, first row) until all rows are taken: `count` is a constant, kMost as often as possible, then less.
template <int kMost, class Tile>
inline void in_tiles(int64_t rows, Tile&& tile) {
  int64_t done = 0;
  const auto take = [&](auto count) {
    for (; rows - done >= count; done += count) tile(count, done);
  };
  take(std::integral_constant<int, kMost>());
  if constexpr (kMost > 8) take(std::integral_constant<int, 8>());
  if constexpr (kMost > 4) take(std::integral_constant<int, 4>());
  take(std::integral_constant<int, 2>());
  take(std::integral_constant<int, 1>());
}

// Rows of the largest tile. Sizes are code of their own, so those of elements that are seldom seen are fewer.
constexpr int largest_tile(int kind, int most) { return kind == 4 || kind == 8 ? most : 4; }

// fn(kind) with the constant of a format's elements.
template <class F>
inline void with_kind(const IntFormat& format, F&& fn) {
  if (format.element == IntFormat::Element::e4m3fn) return fn(std::integral_constant<int, kE4m3fn>());
  if (format.element == IntFormat::Element::e5m2) return fn(std::integral_constant<int, kE5m2>());
  switch (format.bits) {
    case 2: return fn(std::integral_constant<int, 2>());
    case 3: return fn(std::integral_constant<int, 3>());
    case 4: return fn(std::integral_constant<int, 4>());
    case 5: return fn(std::integral_constant<int, 5>());
    case 6: return fn(std::integral_constant<int, 6>());
    default: return fn(std::integral_constant<int, 8>());
  }
}

// Rows of a panel: products of rounded inputs, of float32, and of float64 in plain loops.
void multiply_rounded(const IntFormat&, const uint8_t* packed, const uint8_t* encoded, int64_t rows, int64_t ahead, float* out);
void multiply_floats(const IntFormat&, const uint8_t* packed, const uint8_t* encoded, int64_t rows, int64_t ahead, float* out);
// One row of float32, of one panel or kTogether that are `between` bytes apart.
constexpr int64_t kTogether = 2;
void multiply_row(const IntFormat&, const uint8_t* packed, int64_t between, int64_t panels, const uint8_t* encoded,
                  int64_t ahead, float* out);
void multiply_doubles(const IntFormat&, const uint8_t* packed, const uint8_t* row, double* out);

}  // namespace kernelet::KERNELET_ISA
