#include "linear/dense.h"

#include <algorithm>
#include <stdexcept>

#include "isa/isa.h"
#include "kernels/table.h"
#include "linear/scratch.h"
#include "pool/share.h"

namespace kernelet {
namespace {

// Rows that are computed before the next ones: memory for their tiles is bounded, and the weight is read once for all.
constexpr int64_t kRowsAtOnce = 576;
// Tiles and panels of a task fit a second-level cache together.
constexpr Sharing kSharing = {.row_bytes = 192 << 10, .panel_bytes = 128 << 10, .tasks = 4, .ahead = 1024};

const DenseKernels::Storage& storage_of(Dtype dtype) { return kernels().dense.storage[static_cast<int>(dtype)]; }

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace

DenseLinear::DenseLinear(Dtype storage, int64_t outputs, int64_t inputs, const void* panels)
    : PackedLinear(outputs, inputs, kSharing),
      storage_(storage),
      kernel_(storage_of(storage)),
      panels_(static_cast<const char*>(panels)) {}

std::string DenseLinear::layout(Dtype storage) {
  const DenseKernels::Storage& kernel = storage_of(storage);
  return "panels of " + std::to_string(kernel.columns) + (kernel.granule == 2 ? ", pairs" : "");
}

int64_t DenseLinear::packed_bytes(Dtype storage, int64_t outputs, int64_t inputs) {
  const DenseKernels::Storage& kernel = storage_of(storage);
  return ceil_div(outputs, kernel.columns) * kernel.columns * kernel.depth(inputs) * size_of(storage);
}

void DenseLinear::pack(Dtype storage, const void* weight, int64_t stride, int64_t outputs, int64_t inputs,
                       void* panels) {
  const DenseKernels::Storage& kernel = storage_of(storage);
  const int64_t size = size_of(storage);
  share_each(ceil_div(outputs, kernel.columns), kernel.columns * inputs, [&](int64_t panel) {
    const int64_t first = panel * kernel.columns;
    const int64_t count = std::min<int64_t>(outputs - first, kernel.columns);
    kernel.pack(static_cast<const char*>(weight) + first * stride * size, stride, count, inputs,
                static_cast<char*>(panels) + first * kernel.depth(inputs) * size);
  });
}

void DenseLinear::apply(const void* x, int64_t rows, void* y, Dtype dtype, const void* bias) const {
  if ((dtype == Dtype::float64) != (storage_ == Dtype::float64))
    throw std::invalid_argument("float64 goes with float64 weights only");
  bias = padded(bias, dtype);
  for (int64_t first = 0; first < rows; first += kRowsAtOnce) {
    const int64_t count = std::min(rows - first, kRowsAtOnce);
    apply_some(static_cast<const char*>(x) + first * inputs() * size_of(dtype), count,
               static_cast<char*>(y) + first * outputs() * size_of(dtype), dtype, bias);
  }
}

void DenseLinear::apply_some(const void* x, int64_t rows, void* y, Dtype dtype, const void* bias) const {
  const DenseKernels::Way& way = way_of(dtype);
  const int64_t tiles = ceil_div(rows, kernel_.tile_rows);
  const DenseProduct product = {tiles_of(x, rows, dtype), rows, depth(), outputs(), panels_, bias, y, dtype,
                                sharing().ahead};
  const int64_t tile_bytes = kernel_.tile_rows * std::min<int64_t>(depth(), kernel_.slice) * way.input_bytes;
  const int64_t block = std::clamp<int64_t>(sharing().row_bytes / std::max<int64_t>(tile_bytes, 1), 1, tiles);
  const int64_t blocks = ceil_div(tiles, block);
  // Panels of a task: even, since one row takes two at once.
  const int64_t fair = ceil_div(panels() * blocks, pool().threads() * sharing().tasks);
  const int64_t most = sharing().panel_bytes ? sharing().panel_bytes / std::max<int64_t>(panel_bytes(), 1) : fair;
  const int64_t group = ceil_div(std::clamp<int64_t>(most, 1, fair), 2) * 2;
  const int64_t groups = ceil_div(panels(), group);
  pool().run(groups * blocks, [&](int64_t task) {
    static thread_local Scratch sums;
    const int64_t panel = task % groups * group, tile = task / groups * block;
    way.multiply(product, panel, std::min(panel + group, panels()), tile, std::min(tile + block, tiles),
                 sums.take(group * block * kernel_.columns * kernel_.tile_rows * sum_bytes()));
  });
}

const DenseKernels::Way& DenseLinear::way_of(Dtype dtype) const {
  return dtype == storage_ && kernel_.narrow.multiply ? kernel_.narrow : kernel_.wide;
}

const void* DenseLinear::tiles_of(const void* x, int64_t rows, Dtype dtype) const {
  const DenseKernels::Way& way = way_of(dtype);
  if (rows == 1 && size_of(dtype) == way.input_bytes && depth() == inputs()) return x;
  static thread_local Scratch scratch;
  const int64_t row_bytes = depth() * way.input_bytes;
  char* tiles = static_cast<char*>(scratch.take(rows * row_bytes));
  share_each(ceil_div(rows, kernel_.tile_rows), kernel_.tile_rows * inputs(), [&](int64_t tile) {
    const int64_t first = tile * kernel_.tile_rows;
    const int64_t count = std::min<int64_t>(rows - first, kernel_.tile_rows);
    way.tile(static_cast<const char*>(x) + first * inputs() * size_of(dtype), count, inputs(), dtype,
             tiles + first * row_bytes);
  });
  return tiles;
}

const void* DenseLinear::padded(const void* bias, Dtype dtype) const {
  if (!bias) return nullptr;
  static thread_local Scratch scratch;
  const int64_t used = outputs() * sum_bytes(), all = panels() * kernel_.columns * sum_bytes();
  char* copy = static_cast<char*>(scratch.take(all));
  kernel_.wide.tile(bias, 1, outputs(), dtype, copy);
  std::fill(copy + used, copy + all, 0);
  return copy;
}

void DenseLinear::gather(const int64_t* ids, int64_t count, void* out) const {
  for (int64_t i = 0; i < count; ++i)
    if (ids[i] < 0 || ids[i] >= outputs())
      throw std::out_of_range("id " + std::to_string(ids[i]) + " of a table of " + std::to_string(outputs()) + " rows");
  share_each(count, inputs(), [&](int64_t i) {
    kernel_.unpack(panels_ + ids[i] / kernel_.columns * panel_bytes(), ids[i] % kernel_.columns, inputs(),
                   static_cast<char*>(out) + i * inputs() * size_of(storage_));
  });
}

}  // namespace kernelet
