#include "kernels/linear_dense.h"

#include <type_traits>

#include "kernels/pairs.h"
#include "kernels/vec.h"

namespace kernelet::KERNELET_ISA {
namespace {

// Two vectors of columns by as many rows as fill the registers with sums.
constexpr int kRows = kVectorBytes == 64 ? 12 : 6;

// Inputs that are summed from zero: with all of a model's in one chain, rounding errors are twice those of other
// libraries. Not so where results are rounded to bfloat16: their sums stay in registers.
template <class X>
constexpr int64_t kSpan = sizeof(X) == 2 ? int64_t{1} << 40 : 128;

// How a number lies in a panel, and what products with it are summed in. Two vectors hold the weights of an input.
template <class S>
struct Panel {  // float and fp16: in the order of the columns
  using Sum = float;
  using Vector = vf;
  static constexpr int kColumns = 2 * kLanes;
  static constexpr int kGranule = 1;
  static constexpr int64_t place(int64_t k, int column) { return k * kColumns + column; }
  static void load_both(const S* panel, int64_t k, vf& first, vf& second) {
    first = load(panel + k * kColumns);
    second = load(panel + k * kColumns + kLanes);
  }
};

#if defined(__AVX512BF16__)
template <>
struct Panel<bf16> {  // words of two inputs, as an instruction multiplies them
  using Sum = float;
  using Vector = vf;
  static constexpr int kColumns = 2 * kLanes;
  static constexpr int kGranule = 2;
  static constexpr int64_t place(int64_t k, int column) { return (k / 2 * kColumns + column) * 2 + k % 2; }
  static void load_both(const bf16* panel, int64_t k, vf& first, vf& second) {
    const vu* words = reinterpret_cast<const vu*>(panel + place(k / 2 * 2, 0));
    first = (vf)(k % 2 ? words[0] & 0xffff0000 : words[0] << 16);
    second = (vf)(k % 2 ? words[1] & 0xffff0000 : words[1] << 16);
  }
};
#else
template <>
struct Panel<bf16> {  // words of a column of the first half, low, and one of the second: a shift and a mask widen them
  using Sum = float;
  using Vector = vf;
  static constexpr int kColumns = 2 * kLanes;
  static constexpr int kGranule = 1;
  static constexpr int64_t place(int64_t k, int column) {
    return k * kColumns + 2 * (column % kLanes) + column / kLanes;
  }
  static void load_both(const bf16* panel, int64_t k, vf& first, vf& second) {
    const vu words = *reinterpret_cast<const vu*>(panel + k * kColumns);
    first = (vf)(words << 16);
    second = (vf)(words & 0xffff0000);
  }
};
#endif

template <>
struct Panel<double> {
  using Sum = double;
  using Vector = vd;
  static constexpr int kColumns = kLanes;
  static constexpr int kGranule = 1;
  static constexpr int64_t place(int64_t k, int column) { return k * kColumns + column; }
  static void load_both(const double* panel, int64_t k, vd& first, vd& second) {
    first = load(panel + k * kColumns);
    second = load(panel + k * kColumns + kLanes / 2);
  }
};

// Inputs of a panel that fill half of a first-level cache.
template <class S>
constexpr int kSlice = 16384 / static_cast<int>(Panel<S>::kColumns * sizeof(S));

template <class S>
void pack(const void* rows, int64_t stride, int64_t count, int64_t inputs, void* panel) {
  const S* source = static_cast<const S*>(rows);
  S* target = static_cast<S*>(panel);
  for (int64_t k = 0; k < whole_granules(inputs, Panel<S>::kGranule); ++k)
    for (int column = 0; column < Panel<S>::kColumns; ++column)
      target[Panel<S>::place(k, column)] = column < count && k < inputs ? source[column * stride + k] : S{};
}

template <class S>
void unpack(const void* panel, int64_t column, int64_t inputs, void* row) {
  const S* source = static_cast<const S*>(panel);
  for (int64_t k = 0; k < inputs; ++k)
    static_cast<S*>(row)[k] = source[Panel<S>::place(k, static_cast<int>(column))];
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

template <int kGranule>
void make_tile(const void* rows, int64_t count, int64_t inputs, Dtype dtype, void* tile) {
  float* target = static_cast<float*>(tile);
  for (int64_t i = inputs * count; i < whole_granules(inputs, kGranule) * count; ++i) target[i] = 0;
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

#if defined(__AVX512BF16__)
void make_tile_of_pairs(const void* rows, int64_t count, int64_t inputs, Dtype, void* tile) {
  const bf16* source = static_cast<const bf16*>(rows);
  uint32_t* target = static_cast<uint32_t*>(tile);
  const __mmask16 there = static_cast<__mmask16>((1u << count) - 1);
  for (int64_t k = 0; k < inputs; k += 2 * kLanes) {
    const int64_t numbers = inputs - k < 2 * kLanes ? inputs - k : 2 * kLanes, words = (numbers + 1) / 2;
    vu words_of[kRows] = {}, columns[kLanes];
    for (int64_t row = 0; row < count; ++row) words_of[row] = load_pairs(source + row * inputs + k, numbers);
    transpose(words_of, columns);
    for (int64_t i = 0; i < words; ++i, target += count) _mm512_mask_storeu_epi32(target, there, (__m512i)columns[i]);
  }
}
#endif

// The products of inputs [start, end) of R rows with P panels that are `stride` numbers apart, added to `total`. This
// way for inputs as what is summed; the one below for pairs of 16 bits, which an instruction multiplies and adds.
template <class S, int R, int P, class V, class X>
void add_products(const X* x, const S* weight, int64_t stride, int64_t start, int64_t end, int64_t ahead,
                  V (&total)[R][P][2]) {
  for (int64_t k = start; k < end; ++k) {
#pragma GCC unroll 4
    for (int p = 0; p < P; ++p) {
      const S* panel = weight + p * stride;
      ask_for<64>(reinterpret_cast<const char*>(panel + k * Panel<S>::kColumns) + ahead);
      V low, high;
      Panel<S>::load_both(panel, k, low, high);
#pragma GCC unroll 12
      for (int row = 0; row < R; ++row) {
        const V factor = splat(x[k * R + row]);
        total[row][p][0] = fmadd(factor, low, total[row][p][0]);
        total[row][p][1] = fmadd(factor, high, total[row][p][1]);
      }
    }
  }
}

template <class S, int R, int P>
void add_products(const bf16* x, const bf16* weight, int64_t stride, int64_t start, int64_t end, int64_t ahead,
                  vf (&total)[R][P][2]) {
  for (int64_t k = start; k < end; k += 2) {
#pragma GCC unroll 4
    for (int p = 0; p < P; ++p) {
      const bf16* words = weight + p * stride + k * Panel<bf16>::kColumns;
      ask_for<2 * kVectorBytes>(reinterpret_cast<const char*>(words) + ahead);
      const vu low = reinterpret_cast<const vu*>(words)[0], high = reinterpret_cast<const vu*>(words)[1];
#pragma GCC unroll 12
      for (int row = 0; row < R; ++row) {
        const vu factor = splat_pair(x + k * R + row * 2);
        total[row][p][0] = add_pairs(total[row][p][0], factor, low);
        total[row][p][1] = add_pairs(total[row][p][1], factor, high);
      }
    }
  }
}

// Adds products of R rows with P panels, which are `stride` numbers apart, to sums[row][panel][column]; to zero at first.
// Every kSpan<X> inputs are summed from zero and then added: a sum of many rounds less. `inputs` starts at a whole span.
template <class S, class X, int R, int P>
void sum_products(const X* x, const S* weight, int64_t stride, int64_t inputs, int64_t ahead, bool first,
                  typename Panel<S>::Sum* sums) {
  using V = typename Panel<S>::Vector;
  constexpr int kColumns = Panel<S>::kColumns;
  for (int64_t start = 0; start == 0 || start < inputs; start += kSpan<X>) {
    V total[R][P][2];
#pragma GCC unroll 12
    for (int row = 0; row < R; ++row)
#pragma GCC unroll 2
      for (int p = 0; p < P; ++p) total[row][p][0] = total[row][p][1] = V{};
    const int64_t end = inputs - start < kSpan<X> ? inputs : start + kSpan<X>;
    add_products<S, R, P>(x, weight, stride, start, end, ahead, total);
    for (int row = 0; row < R; ++row)
      for (int p = 0; p < P; ++p)
        for (int half = 0; half < 2; ++half) {
          auto* place = sums + (row * P + p) * kColumns + half * (kColumns / 2);
          store(place, first ? total[row][p][half] : load(place) + total[row][p][half]);
        }
    first = false;
  }
}

// The same for one panel and `rows` of 1 to R.
template <class S, class X, int R>
void sum_tile(const X* x, int64_t rows, const S* weight, int64_t inputs, int64_t ahead, bool first,
              typename Panel<S>::Sum* sums) {
  if (rows == R) return sum_products<S, X, R, 1>(x, weight, 0, inputs, ahead, first, sums);
  if constexpr (R > 1) sum_tile<S, X, R - 1>(x, rows, weight, inputs, ahead, first, sums);
}

template <class Y, class V>
inline void put(Y* y, V value) {
  if constexpr (kHasPairs && std::is_same_v<Y, bf16>)
    store_rounded(y, value);
  else
    store(y, value);
}

// One row of sums, with its bias, rounded to y's type.
template <class Y, class Sum>
void write_row(const Sum* sums, const Sum* bias, int64_t count, Y* y) {
  constexpr int kStep = kVectorBytes / static_cast<int>(sizeof(Sum));
  for (int64_t i = 0; i < count; i += kStep) {
    auto value = load(sums + i);
    if (bias) value += load(bias + i);
    if (count - i >= kStep) {
      put(y + i, value);
    } else {
      Y last[kStep];
      put(last, value);
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

// One row: two panels at once, since one alone waits for its own sums.
template <class S, class X>
void multiply_row(const DenseProduct& product, int64_t first_panel, int64_t last_panel,
                  typename Panel<S>::Sum* sums) {
  constexpr int64_t kColumns = Panel<S>::kColumns;
  const int64_t stride = product.inputs * kColumns;
  const X* x = static_cast<const X*>(product.x);
  const S* weight = static_cast<const S*>(product.weight);
  int64_t panel = first_panel;
  for (; panel + 2 <= last_panel; panel += 2) {
    sum_products<S, X, 1, 2>(x, weight + panel * stride, stride, product.inputs, product.ahead, true, sums);
    write_sums(product, sums, 2 * kColumns, 0, 1, panel * kColumns);
  }
  for (; panel < last_panel; ++panel) {
    sum_products<S, X, 1, 1>(x, weight + panel * stride, stride, product.inputs, product.ahead, true, sums);
    write_sums(product, sums, kColumns, 0, 1, panel * kColumns);
  }
}

// Slices of the inputs in turn, so that a slice of a panel stays in the first cache while tiles go over it, and a slice
// of the tiles in the second while panels do. Sums wait in memory meanwhile, where their bits do not change.
template <class S, class X>
void multiply(const DenseProduct& product, int64_t first_panel, int64_t last_panel, int64_t first_tile,
              int64_t last_tile, void* memory) {
  using Sum = typename Panel<S>::Sum;
  constexpr int64_t kColumns = Panel<S>::kColumns;
  if (product.rows == 1) return multiply_row<S, X>(product, first_panel, last_panel, static_cast<Sum*>(memory));
  const int64_t inputs = product.inputs, tiles = last_tile - first_tile;
  const int64_t wanted = tiles > 1 ? (inputs + kSlice<S> / 2) / kSlice<S> : 1;
  const int64_t spans = (inputs + kSpan<X> - 1) / kSpan<X>;
  const int64_t slice = wanted > 1 ? (spans + wanted - 1) / wanted * kSpan<X> : inputs;
  for (int64_t start = 0; start == 0 || start < inputs; start += slice) {
    const int64_t count = inputs - start < slice ? inputs - start : slice;
    const bool last = start + count == inputs;
    for (int64_t panel = first_panel; panel < last_panel; ++panel) {
      const S* weight = static_cast<const S*>(product.weight) + (panel * inputs + start) * kColumns;
      for (int64_t tile = first_tile; tile < last_tile; ++tile) {
        const int64_t row = tile * kRows;
        const int64_t rows = product.rows - row < kRows ? product.rows - row : kRows;
        const X* x = static_cast<const X*>(product.x) + row * inputs + start * rows;
        const int64_t place = slice < inputs ? (panel - first_panel) * tiles + tile - first_tile : 0;
        Sum* sums = static_cast<Sum*>(memory) + place * kRows * kColumns;
        sum_tile<S, X, kRows>(x, rows, weight, count, product.ahead, start == 0, sums);
        if (last) write_sums(product, sums, kColumns, row, rows, panel * kColumns);
      }
    }
  }
}

template <class S>
constexpr DenseKernels::Way wide() {
  using Sum = typename Panel<S>::Sum;
  return {sizeof(Sum), sizeof(S) == 8 ? make_double_tile : make_tile<Panel<S>::kGranule>, multiply<S, Sum>};
}

template <class S>
constexpr DenseKernels::Storage storage(DenseKernels::Way narrow = {}) {
  using P = Panel<S>;
  return {P::kColumns, kRows, kSlice<S>, P::kGranule, pack<S>, unpack<S>, wide<S>(), narrow};
}

}  // namespace

DenseKernels dense_kernels() {
#if defined(__AVX512BF16__)
  constexpr DenseKernels::Way pairs = {sizeof(bf16), make_tile_of_pairs, multiply<bf16, bf16>};
#else
  constexpr DenseKernels::Way pairs = {};
#endif
  return {{storage<float>(), storage<bf16>(pairs), storage<fp16>(), storage<double>()}};
}

}  // namespace kernelet::KERNELET_ISA
