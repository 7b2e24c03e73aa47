#include "kernels/linear_int.h"

#include "kernels/elementwise_convert.h"
#include "kernels/linear_int_layout.h"
#include "kernels/quantize.h"
#include "kernels/table.h"

namespace kernelet::KERNELET_ISA {
namespace {

constexpr int64_t kBlock = 60;  // rows whose results are held until they are stored: whole tiles of every instruction set

int64_t panel_bytes(const IntFormat& format) {
  const uint8_t* start = reinterpret_cast<const uint8_t*>(uintptr_t{64});  // nothing is read
  Groups groups(format, start);
  while (!groups.done()) groups.next();
  return (groups.end() - start + 63) / 64 * 64;
}

// Where element k of a granule's output `column` is, from its lowest bits up: fn(byte of the granule, lowest bit, width).
template <int kBits, class F>
inline void each_plane(int64_t k, int64_t column, F&& fn) {
  constexpr int64_t kWord = 4 * kPanel, kFrom = kBits == 6 ? 1 : kBits % 2;  // words of higher bits come first
  const int64_t byte = column * 4 + k % 4, quad = k / 4;
  if (kBits == 8) fn(quad * kWord + byte, 0, 8);
  if (kBits >= 4 && kBits < 8) fn((kFrom + quad / 2) * kWord + byte, static_cast<int>(quad % 2 * 4), 4);
  if (kBits == 6) fn(byte, static_cast<int>(quad * 2), 2);
  if (kBits < 4) fn((kFrom + quad / 4) * kWord + byte, static_cast<int>(quad % 4 * 2), 2);
  if (kBits % 2) fn(byte, static_cast<int>(quad), 1);
}

template <int kBits>
constexpr int64_t kGranule = granule_of(kBits);

// Element k of a stretch.
template <int kBits>
inline int element(const IntFormat& format, const uint8_t* elements, int64_t k, int64_t column) {
  if (kBits == 8 && format.by_input()) return elements[k * kPanel + column];
  const uint8_t* at = elements + k / kGranule<kBits> * kGranule<kBits> * kBits / 8 * kPanel;
  int value = 0, low = 0;
  each_plane<kBits>(k % kGranule<kBits>, column, [&](int64_t byte, int shift, int width) {
    value |= (at[byte] >> shift & ((1 << width) - 1)) << low;
    low += width;
  });
  return value;
}

template <int kBits>
inline void put_element(const IntFormat& format, uint8_t* elements, int64_t k, int64_t column, int value) {
  if (kBits == 8 && format.by_input()) {
    elements[k * kPanel + column] = static_cast<uint8_t>(value);
    return;
  }
  uint8_t* at = elements + k / kGranule<kBits> * kGranule<kBits> * kBits / 8 * kPanel;
  each_plane<kBits>(k % kGranule<kBits>, column, [&](int64_t byte, int shift, int width) {
    at[byte] = static_cast<uint8_t>(at[byte] | (value & ((1 << width) - 1)) << shift);
    value >>= width;
  });
}

// Values [outputs, count] of `bytes` each -> those of a panel.
void put_values(const void* from, int64_t bytes, int64_t row, int64_t outputs, int64_t count, int64_t index, uint8_t* to) {
  for (int64_t column = 0; column < kPanel && row + column < outputs; ++column)
    std::memcpy(to + column * bytes, static_cast<const uint8_t*>(from) + ((row + column) * count + index) * bytes,
                static_cast<size_t>(bytes));
}

void pack(const IntFormat& format, const IntSource& source, int64_t panel, uint8_t* out) {
  constexpr int kScale[] = {4, 2, 1, 1, 1}, kCoarse[] = {0, 4, 2};
  const int64_t row = panel * kPanel, bytes = kScale[static_cast<int>(format.scale)];
  const int64_t zeros[] = {0, 1, 4, format.scale == IntFormat::Scale::nibbles ? 0 : bytes};
  const int64_t zero = zeros[static_cast<int>(format.zero)], coarse = kCoarse[static_cast<int>(format.coarse)];
  std::memset(out, 0, static_cast<size_t>(panel_bytes(format)));
  Groups groups(format, out);
  for (int64_t g = 0; !groups.done(); ++g) {
    const Group group = groups.next();
    const auto place = [&](const uint8_t* at) { return out + (at - out); };
    put_values(source.scales, bytes, row, format.outputs, format.groups(), g, place(group.scales));
    if (zero) put_values(source.zeros, zero, row, format.outputs, format.groups(), g, place(group.zeros));
    if (coarse && group.start % format.block == 0) {
      const int64_t block = group.start / format.block;
      put_values(source.coarse, coarse, row, format.outputs, format.blocks(), block, place(group.coarse));
      if (format.zero == IntFormat::Zero::offsets)
        put_values(source.coarse_offsets, coarse, row, format.outputs, format.blocks(), block,
                   place(group.coarse) + coarse * kPanel);
    }
    const int64_t count = format.inputs - group.start < group.size ? format.inputs - group.start : group.size;
    for (int64_t column = 0; column < kPanel && row + column < format.outputs; ++column) {
      const uint8_t* given = source.elements + (row + column) * format.inputs + group.start;
      with_kind(format, [&](auto kind) {
        for (int64_t k = 0; k < count; ++k)
          put_element<bits_of(decltype(kind)::value)>(format, place(group.elements), group.first + k, column,
                                                      static_cast<uint8_t>(given[k] + format.origin));
      });
    }
  }
}

template <class S>
void store_row(const Wide<S>* values, int64_t count, const S* bias, S* y) {
  each_vector<S>(count, [&](int64_t i, int lanes) {
    VecOf<S> v = load(values + i);
    if (bias) v += widen(bias + i, lanes);
    narrow(y + i, v, lanes);
  });
}

// The results `sums` of panel's outputs, `width` numbers a row.
template <class S>
void store_rows(const IntProduct& product, int64_t panel, int64_t width, int64_t row, int64_t rows, const Wide<S>* sums) {
  const int64_t first = panel * kPanel, outputs = product.format.outputs;
  const S* bias = product.bias ? static_cast<const S*>(product.bias) + first : nullptr;
  S* y = static_cast<S*>(product.y) + row * outputs + first;
  for (int64_t r = 0; r < rows; ++r)
    store_row(sums + r * width, outputs - first < width ? outputs - first : width, bias, y + r * outputs);
}

template <class S>
void multiply_panel(const IntProduct& product, const uint8_t* packed, int64_t panel, int64_t bytes) {
  const IntFormat& format = product.format;
  if constexpr (sizeof(S) == 8) {
    double sums[kPanel];
    for (int64_t r = 0; r < product.rows; ++r) {
      multiply_doubles(format, packed, product.encoded + r * bytes, sums);
      store_rows<S>(product, panel, kPanel, r, 1, sums);
    }
  } else {
    float sums[kBlock * kPanel];
    const auto multiply = format.whole_inputs() ? multiply_rounded : multiply_floats;
    for (int64_t from = 0; from < product.rows; from += kBlock) {
      const int64_t count = product.rows - from < kBlock ? product.rows - from : kBlock;
      multiply(format, packed, product.encoded + from * bytes, count, product.ahead, sums);
      store_rows<S>(product, panel, kPanel, from, count, sums);
    }
  }
}

template <class S>
void multiply_as(const IntProduct& product, int64_t first_panel, int64_t last_panel) {
  const IntFormat& format = product.format;
  const int64_t between = product.panel_bytes, bytes = row_bytes(format, product.dtype);
  int64_t panel = first_panel;
  if constexpr (sizeof(S) < 8) {
    float sums[kTogether * kPanel];
    for (; product.rows == 1 && !format.whole_inputs() && panel < last_panel; panel += kTogether) {
      const int64_t panels = last_panel - panel < kTogether ? 1 : kTogether;
      multiply_row(format, product.packed + panel * between, between, panels, product.encoded, product.ahead, sums);
      store_rows<S>(product, panel, panels * kPanel, 0, 1, sums);
    }
  }
  for (; panel < last_panel; ++panel) multiply_panel<S>(product, product.packed + panel * between, panel, bytes);
}

void multiply(const IntProduct& product, int64_t first_panel, int64_t last_panel) {
  switch (product.dtype) {
    case Dtype::float32: return multiply_as<float>(product, first_panel, last_panel);
    case Dtype::bfloat16: return multiply_as<bf16>(product, first_panel, last_panel);
    case Dtype::float16: return multiply_as<fp16>(product, first_panel, last_panel);
    case Dtype::float64: return multiply_as<double>(product, first_panel, last_panel);
  }
}

// Of one output, in float64.
struct Output {
  const IntFormat& format;
  const Group& group;
  int64_t column;

  double lane(vf (*of)(const IntFormat&, const uint8_t*, int, bool), const uint8_t* at, bool offsets) const {
    float lanes[kLanes];
    store(lanes, of(format, at, static_cast<int>(column / kLanes), offsets));
    return lanes[column % kLanes];
  }
  double whole(const uint8_t* at, bool offsets) const {
    const double fine = lane(fine_level, at, offsets);
    return format.coarse == IntFormat::Coarse::none ? fine : fine * lane(coarse_level, group.coarse, offsets);
  }
  double scale() const { return whole(group.scales, false); }
  double offset() const {
    if (format.zero != IntFormat::Zero::offsets) return 0;
    return whole(offsets_at(format, group), true);
  }
  double zero() const {
    if (format.zero == IntFormat::Zero::bytes) return group.zeros[column];
    if (format.zero == IntFormat::Zero::floats) return reinterpret_cast<const float*>(group.zeros)[column];
    return format.origin;
  }
  // fn(k, element) for each input of the group.
  template <class F>
  void each(F&& fn) const {
    with_kind(format, [&](auto kind) {
      constexpr int kKind = decltype(kind)::value;
      for (int64_t k = 0; k < group.size; ++k) {
        const int value = element<bits_of(kKind)>(format, group.elements, group.first + k, column);
        if constexpr (kKind > 8) {
          const uint8_t lanes[kLanes] = {static_cast<uint8_t>(value)};
          fn(k, static_cast<double>(small_floats<kKind>(lanes)[0]));
        } else {
          fn(k, static_cast<double>(value));
        }
      }
    });
  }
};

void gather(const IntFormat& format, const uint8_t* packed, int64_t column, float* out) {
  Groups groups(format, packed);
  while (!groups.done()) {
    const Group group = groups.next();
    const Output output = {format, group, column};
    const double scale = output.scale(), zero = output.zero(), offset = output.offset();
    output.each([&](int64_t k, double value) {
      if (group.start + k < format.inputs) out[group.start + k] = static_cast<float>((value - zero) * scale + offset);
    });
  }
}

}  // namespace

void multiply_doubles(const IntFormat& format, const uint8_t* packed, const uint8_t* row, double* out) {
  const bool rounded = format.whole_inputs();
  const RoundedRow whole = rounded ? rounded_row(format, row) : RoundedRow{};
  const double* doubles = reinterpret_cast<const double*>(row);
  for (int64_t column = 0; column < kPanel; ++column) out[column] = 0;
  Groups groups(format, packed);
  while (!groups.done()) {
    const Group group = groups.next();
    for (int64_t column = 0; column < kPanel; ++column) {
      const Output output = {format, group, column};
      const double zero = output.zero();
      double sum = 0, inputs = 0;
      output.each([&](int64_t k, double value) {
        const double x = rounded ? static_cast<int8_t>(whole.inputs[group.start + k]) : doubles[group.start + k];
        sum += (value - zero) * x;
        inputs += x;
      });
      out[column] += sum * output.scale() + inputs * output.offset();
    }
  }
  for (int64_t column = 0; rounded && column < kPanel; ++column) out[column] *= whole.scale;
}

IntKernels int_kernels() { return {kPanel, panel_bytes, pack, row_bytes, encode, multiply, gather}; }

}  // namespace kernelet::KERNELET_ISA
