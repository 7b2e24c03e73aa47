#include "layer/ops.h"

#include <algorithm>

#include "isa/isa.h"
#include "kernels/table.h"
#include "layer/buffer.h"
#include "pool/share.h"

namespace kernelet {
namespace {

auto* norm_kernel(NormKind kind, Dtype dtype, bool of_wide) {
  const NormKernels& norms = kernels().norm;
  const int index = static_cast<int>(dtype);
  if (kind == NormKind::rms) return of_wide ? norms.rms_of_wide[index] : norms.rms[index];
  return of_wide ? norms.layer_of_wide[index] : norms.layer[index];
}

}  // namespace

void norm(NormKind kind, const NormRows& rows, int64_t count, Dtype dtype, bool of_wide) {
  auto* kernel = norm_kernel(kind, dtype, of_wide);
  share(count, rows.size, [&](int64_t from, int64_t to) { kernel(rows, from, to); });
}

void add_norm(NormKind kind, const AddCall& add, const NormRows& norm, int64_t count, Dtype dtype) {
  auto* sum = kernels().elementwise.add_to_wide[static_cast<int>(dtype)];
  auto* kernel = norm_kernel(kind, dtype, true);
  share(count, 2 * norm.size, [&](int64_t from, int64_t to) {
    for (int64_t row = from; row < to; ++row) {
      sum(add, row * norm.size, (row + 1) * norm.size);
      kernel(norm, row, row + 1);
    }
  });
}

void add(const AddCall& call, int64_t elements, Dtype dtype, bool to_wide) {
  const ElementwiseKernels& table = kernels().elementwise;
  auto* kernel = (to_wide ? table.add_to_wide : table.add)[static_cast<int>(dtype)];
  share(elements, 1, [&](int64_t from, int64_t to) { kernel(call, from, to); });
}

void activate(const ActivationRows& rows, int64_t count, Dtype dtype) {
  auto* kernel = kernels().elementwise.activate[static_cast<int>(dtype)];
  share(count, 4 * rows.size, [&](int64_t from, int64_t to) { kernel(rows, from, to); });
}

void heads(const HeadRows& rows, int64_t tokens, Dtype dtype) {
  auto* kernel = kernels().rope.heads[static_cast<int>(dtype)];
  share(tokens, 2 * rows.heads * rows.size, [&](int64_t from, int64_t to) { kernel(rows, from, to); });
}

void write(const CacheRows& rows, int64_t tokens, Dtype dtype) {
  auto* kernel = kernels().rope.write[static_cast<int>(rows.form)][static_cast<int>(dtype)];
  share(tokens, 4 * rows.kv_heads * rows.size, [&](int64_t from, int64_t to) { kernel(rows, from, to); });
}

void place(const HeadRows& query, const HeadRows& key, const CacheRows& cache, int64_t tokens, Dtype dtype) {
  const RopeKernels& table = kernels().rope;
  const int index = static_cast<int>(dtype);
  share(tokens, 2 * (query.heads + 3 * key.heads) * query.size, [&](int64_t from, int64_t to) {
    table.heads[index](query, from, to);
    table.heads[index](key, from, to);
    table.write[static_cast<int>(cache.form)][index](cache, from, to);
  });
}

void attention(const AttentionCall& call, AttentionStep& step, Dtype dtype) {
  const AttentionKernels& table = kernels().attention;
  const int index = static_cast<int>(dtype);
  const int64_t kv_heads = call.layer.kv_heads, group = call.layer.heads / kv_heads;
  const auto& tiles = step.tiles(std::max<int64_t>(1, kQueryRows / group));
  int64_t largest = 0;
  for (const auto& tile : tiles) largest = std::max(largest, tile.count);
  const int64_t bytes = table.scratch[index](call.layer, largest);
  auto* attend = table.attend[static_cast<int>(call.layer.form)][index];
  pool().run(static_cast<int64_t>(tiles.size()) * kv_heads, [&](int64_t task) {
    thread_local Buffer scratch;
    const auto& tile = tiles[static_cast<size_t>(task / kv_heads)];
    attend(call, {tile.token, tile.position, tile.count, task % kv_heads, tile.blocks},
           scratch.reserve(bytes));
  });
}

}  // namespace kernelet
