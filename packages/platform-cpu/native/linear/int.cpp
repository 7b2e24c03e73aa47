#include "linear/int.h"

#include <algorithm>
#include <stdexcept>

#include "isa/isa.h"
#include "kernels/table.h"
#include "linear/scratch.h"
#include "pool/share.h"

namespace kernelet {
namespace {

// Encoded rows stay in a core's cache while panels pass.
constexpr Sharing kSharing = {.row_bytes = 192 << 10, .panel_bytes = 0, .tasks = 8, .ahead = 1024};
constexpr int64_t kTile = 12;               // a multiple of every kernel's rows
constexpr int64_t kRowsAtOnce = 768;  // so that memory for encoded rows is bounded

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

const IntKernels& ints() { return kernels().ints; }

}  // namespace

IntLinear::IntLinear(const IntFormat& format, uint8_t* packed)
    : PackedLinear(format.outputs, format.inputs, kSharing), kernel_(ints()), format_(format),
      panel_bytes_(kernel_.panel_bytes(format)), packed_(packed) {}

int64_t IntLinear::bytes(const IntFormat& format) {
  return ceil_div(format.outputs, ints().panel) * ints().panel_bytes(format);
}

std::string IntLinear::layout() { return "panels of " + std::to_string(ints().panel) + ", planes"; }

void IntLinear::pack(const IntSource& source) {
  pool().run(panels(), [&](int64_t index) { kernel_.pack(format_, source, index, panel(index)); });
}

void IntLinear::apply(const void* x, int64_t rows, void* y, Dtype dtype, const void* bias) const {
  const int64_t size = size_of(dtype);
  for (int64_t first = 0; first < rows; first += kRowsAtOnce)
    apply_some(static_cast<const char*>(x) + first * inputs() * size, std::min(rows - first, kRowsAtOnce),
               static_cast<char*>(y) + first * outputs() * size, dtype, bias);
}

void IntLinear::apply_some(const void* x, int64_t rows, void* y, Dtype dtype, const void* bias) const {
  static thread_local Scratch scratch;
  const int64_t row_bytes = kernel_.row_bytes(format_, dtype), size = size_of(dtype);
  uint8_t* const encoded = static_cast<uint8_t*>(scratch.take(rows * row_bytes));
  share_each(rows, inputs(), [&](int64_t row) {
    kernel_.encode(format_, static_cast<const char*>(x) + row * inputs() * size, dtype, encoded + row * row_bytes);
  });

  const int64_t block = std::max(kTile, sharing().row_bytes / row_bytes / kTile * kTile), blocks = ceil_div(rows, block);
  const int64_t fair = panels() * blocks / (sharing().tasks * pool().threads());
  const int64_t most = sharing().panel_bytes ? sharing().panel_bytes / panel_bytes_ : fair;
  // Even, since one row may take two at once.
  const int64_t span = ceil_div(std::max<int64_t>(1, std::min(fair, most)), 2) * 2;
  const int64_t spans = ceil_div(panels(), span);
  pool().run(blocks * spans, [&](int64_t task) {
    const int64_t row = task / spans * block, first = task % spans * span;
    kernel_.multiply({format_, packed_, panel_bytes_, encoded + row * row_bytes, std::min(block, rows - row), bias,
                      static_cast<char*>(y) + row * outputs() * size, dtype, sharing().ahead},
                     first, std::min(first + span, panels()));
  });
}

void IntLinear::gather(const int64_t* ids, int64_t count, void* out) const {
  for (int64_t i = 0; i < count; ++i)
    if (ids[i] < 0 || ids[i] >= outputs())
      throw std::out_of_range("id " + std::to_string(ids[i]) + " of a table of " + std::to_string(outputs()) + " rows");
  share_each(count, inputs(), [&](int64_t i) {
    kernel_.gather(format_, panel(ids[i] / kernel_.panel), ids[i] % kernel_.panel,
                   static_cast<float*>(out) + i * inputs());
  });
}

}  // namespace kernelet
