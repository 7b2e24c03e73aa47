#include "kernels/linear_dense.h"

#include "kernels/vec.h"

namespace kernelet::KERNELET_ISA {
namespace {

// Two vectors of columns by as many rows as fill the registers with sums.
constexpr int kRows = kVectorBytes == 64 ? 12 : 6;
constexpr int64_t kAhead = 1024;  // bytes that are asked for before they are read

// How a number lies in a panel, and what products with it are summed in.
template <class S>
struct Panel {  // float and fp16: in the order of the columns
  using Sum = float;
  using Vector = vf;
  static constexpr int kColumns = 2 * kLanes;
  static constexpr int place(int column) { return column; }
  static void load_both(const S* p, vf& first, vf& second) {
    first = load(p);
    second = load(p + kLanes);
  }
};

template <>
struct Panel<bf16> {  // words of a column of the first half, low, and one of the second: a shift and a mask widen them
  using Sum = float;
  using Vector = vf;
  static constexpr int kColumns = 2 * kLanes;
  static constexpr int place(int column) { return 2 * (column % kLanes) + column / kLanes; }
  static void load_both(const bf16* p, vf& first, vf& second) {
    const vu words = *reinterpret_cast<const vu*>(p);
    first = (vf)(words << 16);
    second = (vf)(words & 0xffff0000);
  }
};

template <>
struct Panel<double> {
  using Sum = double;
  using Vector = vd;
  static constexpr int kColumns = kLanes;
  static constexpr int place(int column) { return column; }
  static void load_both(const double* p, vd& first, vd& second) {
    first = load(p);
    second = load(p + kLanes / 2);
  }
};

template <class S>
void pack(const void* rows, int64_t stride, int64_t count, int64_t inputs, void* panel) {
  constexpr int kColumns = Panel<S>::kColumns;
  const S* source = static_cast<const S*>(rows);
  S* target = static_cast<S*>(panel);
  for (int64_t k = 0; k < inputs; ++k)
    for (int column = 0; column < kColumns; ++column)
      target[k * kColumns + Panel<S>::place(column)] = column < count ? source[column * stride + k] : S{};
}

template <class S>
void unpack(const void* panel, int64_t column, int64_t inputs, void* row) {
  const S* source = static_cast<const S*>(panel) + Panel<S>::place(static_cast<int>(column));
  for (int64_t k = 0; k < inputs; ++k) static_cast<S*>(row)[k] = source[k * Panel<S>::kColumns];
}

template <class X>
void tile_of(const X* rows, int64_t count, int64_t inputs, float* tile) {
  float lanes[kRows][kLanes];
  for (int64_t k = 0; k < inputs; k += kLanes) {
    const int64_t width = inputs - k < kLanes ? inputs - k : kLanes;
    for (int64_t row = 0; row < count; ++row) {
      const X* source = rows + row * inputs + k;
      X last[kLanes] = {};
      if (width < kLanes) {
        for (int64_t i = 0; i < width; ++i) last[i] = source[i];
        source = last;
      }
      store(lanes[row], load(source));
    }
    for (int64_t i = 0; i < width; ++i)
      for (int64_t row = 0; row < count; ++row) tile[(k + i) * count + row] = lanes[row][i];
  }
}

void make_tile(const void* rows, int64_t count, int64_t inputs, Dtype dtype, void* tile) {
  float* target = static_cast<float*>(tile);
  switch (dtype) {
    case Dtype::float32: return tile_of(static_cast<const float*>(rows), count, inputs, target);
    case Dtype::bfloat16: return tile_of(static_cast<const bf16*>(rows), count, inputs, target);
    case Dtype::float16: return tile_of(static_cast<const fp16*>(rows), count, inputs, target);
    case Dtype::float64: return;  // of double weights only, which have the function below
  }
}

void make_double_tile(const void* rows, int64_t count, int64_t inputs, Dtype, void* tile) {
  for (int64_t row = 0; row < count; ++row)
    for (int64_t k = 0; k < inputs; ++k)
      static_cast<double*>(tile)[k * count + row] = static_cast<const double*>(rows)[row * inputs + k];
}

// Sums of R rows with P panels that follow each other: sums[row][panel][column].
template <class S, int R, int P>
void sum_products(const typename Panel<S>::Sum* x, const S* weight, int64_t inputs, typename Panel<S>::Sum* sums) {
  using V = typename Panel<S>::Vector;
  constexpr int kColumns = Panel<S>::kColumns;
  V total[R][P][2] = {};
  for (int64_t k = 0; k < inputs; ++k) {
#pragma GCC unroll 4
    for (int p = 0; p < P; ++p) {
      const S* numbers = weight + (p * inputs + k) * kColumns;
      __builtin_prefetch(reinterpret_cast<const char*>(numbers) + kAhead);
      V first, second;
      Panel<S>::load_both(numbers, first, second);
#pragma GCC unroll 12
      for (int row = 0; row < R; ++row) {
        const V factor = splat(x[k * R + row]);
        total[row][p][0] = fmadd(factor, first, total[row][p][0]);
        total[row][p][1] = fmadd(factor, second, total[row][p][1]);
      }
    }
  }
  for (int row = 0; row < R; ++row)
    for (int p = 0; p < P; ++p) {
      typename Panel<S>::Sum* place = sums + (row * P + p) * kColumns;
      store(place, total[row][p][0]);
      store(place + kColumns / 2, total[row][p][1]);
    }
}

// The same for `rows` of 1 to R.
template <class S, int R>
void sum_tile(const typename Panel<S>::Sum* x, int64_t rows, const S* weight, int64_t inputs,
              typename Panel<S>::Sum* sums) {
  if (rows == R) return sum_products<S, R, 1>(x, weight, inputs, sums);
  if constexpr (R > 1) sum_tile<S, R - 1>(x, rows, weight, inputs, sums);
}

// One row of sums, with its bias, rounded to y's type.
template <class Y, class Sum>
void write_row(const Sum* sums, const Sum* bias, int64_t count, Y* y) {
  constexpr int kStep = kVectorBytes / static_cast<int>(sizeof(Sum));
  for (int64_t i = 0; i < count; i += kStep) {
    auto value = load(sums + i);
    if (bias) value += load(bias + i);
    if (count - i >= kStep) {
      store(y + i, value);
    } else {
      Y last[kStep];
      store(last, value);
      for (int64_t j = i; j < count; ++j) y[j] = last[j - i];
    }
  }
}

template <class Sum>
void write_sums(const DenseProduct& product, const Sum* sums, int64_t width, int64_t row, int64_t rows, int64_t column) {
  const Sum* bias = product.bias ? static_cast<const Sum*>(product.bias) + column : nullptr;
  const int64_t count = product.outputs - column < width ? product.outputs - column : width;
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t place = (row + r) * product.outputs + column;
    const Sum* from = sums + r * width;
    if constexpr (sizeof(Sum) == 8) {
      write_row(from, bias, count, static_cast<double*>(product.y) + place);
    } else {
      switch (product.dtype) {
        case Dtype::float32: write_row(from, bias, count, static_cast<float*>(product.y) + place); break;
        case Dtype::bfloat16: write_row(from, bias, count, static_cast<bf16*>(product.y) + place); break;
        case Dtype::float16: write_row(from, bias, count, static_cast<fp16*>(product.y) + place); break;
        case Dtype::float64: break;
      }
    }
  }
}

template <class S>
void multiply(const DenseProduct& product, int64_t first_panel, int64_t last_panel, int64_t first_tile,
              int64_t last_tile) {
  using Sum = typename Panel<S>::Sum;
  constexpr int64_t kColumns = Panel<S>::kColumns;
  const int64_t inputs = product.inputs;
  const Sum* x = static_cast<const Sum*>(product.x);
  const S* weight = static_cast<const S*>(product.weight);
  alignas(64) Sum sums[kRows * kColumns];
  static_assert(kRows >= 2);
  int64_t panel = first_panel;
  if (product.rows == 1)  // two panels at once: one alone waits for its own sums
    for (; panel + 2 <= last_panel; panel += 2) {
      sum_products<S, 1, 2>(x, weight + panel * inputs * kColumns, inputs, sums);
      write_sums(product, sums, 2 * kColumns, 0, 1, panel * kColumns);
    }
  for (; panel < last_panel; ++panel)
    for (int64_t tile = first_tile; tile < last_tile; ++tile) {
      const int64_t row = tile * kRows;
      const int64_t rows = product.rows - row < kRows ? product.rows - row : kRows;
      sum_tile<S, kRows>(x + row * inputs, rows, weight + panel * inputs * kColumns, inputs, sums);
      write_sums(product, sums, kColumns, row, rows, panel * kColumns);
    }
}

template <class S>
constexpr DenseKernels::Storage storage() {
  return {Panel<S>::kColumns, kRows, pack<S>, unpack<S>, sizeof(S) == 8 ? make_double_tile : make_tile, multiply<S>};
}

}  // namespace

DenseKernels dense_kernels() {
  return {{storage<float>(), storage<bf16>(), storage<fp16>(), storage<double>()}};
}

}  // namespace kernelet::KERNELET_ISA
