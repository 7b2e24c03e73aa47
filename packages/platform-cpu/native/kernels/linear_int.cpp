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

template <class S>
void multiply_as(const IntFormat& format, int64_t panel, const uint8_t* packed, const uint8_t* encoded, int64_t rows,
                 const S* bias, S* y, int64_t stride, Dtype dtype) {
  const int64_t first = panel * kPanel;
  const int64_t columns = format.outputs - first < kPanel ? format.outputs - first : kPanel;
  const int64_t bytes = row_bytes(format, dtype);
  const S* added = bias ? bias + first : nullptr;
  y += first;
  if constexpr (sizeof(S) == 8) {
    double out[kPanel];
    for (int64_t r = 0; r < rows; ++r) {
      multiply_doubles(format, packed, encoded + r * bytes, out);
      store_row(out, columns, added, y + r * stride);
    }
  } else {
    float out[kBlock * kPanel];
    for (int64_t from = 0; from < rows; from += kBlock) {
      const int64_t count = rows - from < kBlock ? rows - from : kBlock;
      const bool rounded = format.round != IntFormat::Round::never;
      (rounded ? multiply_rounded : multiply_floats)(format, packed, encoded + from * bytes, count, out);
      for (int64_t r = 0; r < count; ++r) store_row(out + r * kPanel, columns, added, y + (from + r) * stride);
    }
  }
}

void multiply(const IntFormat& format, int64_t panel, const uint8_t* packed, const uint8_t* encoded, int64_t rows,
              const void* bias, void* y, int64_t stride, Dtype dtype) {
  const auto as = [&](auto* typed) {
    using S = std::remove_pointer_t<decltype(typed)>;
    multiply_as(format, panel, packed, encoded, rows, static_cast<const S*>(bias), typed, stride, dtype);
  };
  switch (dtype) {
    case Dtype::float32: return as(static_cast<float*>(y));
    case Dtype::bfloat16: return as(static_cast<bf16*>(y));
    case Dtype::float16: return as(static_cast<fp16*>(y));
    case Dtype::float64: return as(static_cast<double*>(y));
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
