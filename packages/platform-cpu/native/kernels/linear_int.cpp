#include "kernels/linear_int.h"

#include "kernels/elementwise_convert.h"
#include "kernels/linear_int_layout.h"
#include "kernels/quantize.h"
#include "kernels/table.h"

namespace kernelet::KERNELET_ISA {
namespace {

constexpr int64_t kBlock = 64;  // rows whose results are held until they are stored

int64_t panel_bytes(const IntFormat& format) {
  const int64_t bytes = format.groups() * (4 * kPanel + zero_bytes(format)) + format.padded() * kPanel * format.bits / 8;
  return (bytes + 63) / 64 * 64;
}

void pack_group(const IntFormat& format, const IntSource& source, int64_t panel, int64_t g, uint8_t* at) {
  const Group group = group_at(format, at, g * format.group);
  float* scales = reinterpret_cast<float*>(at);
  uint8_t* bytes = at + 4 * kPanel;
  float* floats = reinterpret_cast<float*>(bytes);
  uint8_t* elements = bytes + zero_bytes(format);
  for (int64_t column = 0; column < kPanel; ++column) {
    const int64_t row = panel * kPanel + column;
    const bool there = row < format.outputs;
    const int64_t from = row * format.groups() + g;
    scales[column] = there ? source.scales[from] : 0;
    if (format.zero == IntFormat::Zero::bytes) bytes[column] = there ? static_cast<const uint8_t*>(source.zeros)[from] : 0;
    if (format.zero == IntFormat::Zero::floats) floats[column] = there ? static_cast<const float*>(source.zeros)[from] : 0;
    const uint8_t* given = source.elements + row * format.inputs + group.start;
    const int64_t count = format.inputs - group.start < group.size ? format.inputs - group.start : group.size;
    for (int64_t k = 0; k < group.size; ++k) {
      const int value = there && k < count ? static_cast<uint8_t>(given[k] + format.origin) : 0;
      if (format.by_input()) {
        elements[k * kPanel + column] = static_cast<uint8_t>(value);
        continue;
      }
      if (format.bits == 8) {
        elements[(k / 4 * kPanel + column) * 4 + k % 4] = static_cast<uint8_t>(value);
        continue;
      }
      uint8_t& byte = elements[(k / 8 * kPanel + column) * 4 + k % 4];
      byte = static_cast<uint8_t>(k % 8 < 4 ? value & 15 : byte | value << 4);
    }
  }
}

void pack(const IntFormat& format, const IntSource& source, int64_t panel, uint8_t* out) {
  for (int64_t g = 0; g < format.groups(); ++g) {
    pack_group(format, source, panel, g, out);
    out += group_at(format, out, g * format.group).end - out;
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
    const auto multiply = format.round == IntFormat::Round::never ? multiply_floats : multiply_rounded;
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
  const int64_t between = panel_bytes(format), bytes = row_bytes(format, product.dtype);
  int64_t panel = first_panel;
  if constexpr (sizeof(S) < 8) {
    float sums[kTogether * kPanel];
    for (; product.rows == 1 && format.round == IntFormat::Round::never && panel < last_panel; panel += kTogether) {
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

void gather(const IntFormat& format, const uint8_t* packed, int64_t column, float* out) {
  for (int64_t start = 0; start < format.padded(); start += format.group) {
    const Group group = group_at(format, packed, start);
    packed = group.end;
    const float scale = group.scales[column], zero = zero_point(format, group, column);
    for (int64_t k = 0; k < group.size && start + k < format.inputs; ++k)
      out[start + k] = (static_cast<float>(element(format, group, k, column)) - zero) * scale;
  }
}

}  // namespace

void multiply_doubles(const IntFormat& format, const uint8_t* packed, const uint8_t* row, double* out) {
  const bool rounded = format.round != IntFormat::Round::never;
  const RoundedRow ints = rounded ? rounded_row(format, row) : RoundedRow{};
  const double* doubles = reinterpret_cast<const double*>(row);
  for (int64_t column = 0; column < kPanel; ++column) out[column] = 0;
  for (int64_t start = 0; start < format.padded(); start += format.group) {
    const Group group = group_at(format, packed, start);
    packed = group.end;
    for (int64_t column = 0; column < kPanel; ++column) {
      const double scale = group.scales[column], zero = zero_point(format, group, column);
      double sum = 0;
      for (int64_t k = 0; k < group.size; ++k) {
        const double x = rounded ? static_cast<int8_t>(ints.inputs[start + k]) : doubles[start + k];
        sum += (element(format, group, k, column) - zero) * x;
      }
      out[column] += sum * scale;
    }
  }
  for (int64_t column = 0; rounded && column < kPanel; ++column) out[column] *= ints.scale;
}

IntKernels int_kernels() { return {kPanel, panel_bytes, pack, row_bytes, encode, multiply, gather}; }

}  // namespace kernelet::KERNELET_ISA
