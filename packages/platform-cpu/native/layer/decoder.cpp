#include "layer/decoder.h"

namespace kernelet {
namespace {

NormRows rows_of(const NormWeights& norm, const void* x, void* y, int64_t size) {
  return {x, size, y, size, size, norm.weight, norm.bias, norm.eps};
}

}  // namespace

void DecoderLayer::run(const void* residual, void* out, AttentionStep& step, const Rotation& rotation,
                       Workspace& work) const {
  const int64_t tokens = step.tokens(), bytes = size_of(dtype);
  const int64_t hidden = qkv.weight->inputs(), size = attention.size;
  const int64_t all = qkv.weight->outputs(), mix = attention.heads * size, middle = down.weight->inputs();

  char* normed = static_cast<char*>(work.normed.reserve(tokens * hidden * bytes));
  char* projected = static_cast<char*>(work.qkv.reserve(tokens * all * bytes));
  norm(attention_norm.kind, rows_of(attention_norm, residual, normed, hidden), tokens, dtype, true);
  qkv.weight->apply(normed, tokens, projected, dtype, qkv.bias);

  char* key = projected + mix * bytes;
  char* value = key + attention.kv_heads * size * bytes;
  const HeadRows queries = {projected, all, size, attention.heads, size, query_norm, query_eps, rotation};
  const HeadRows keys = {key, all, size, attention.kv_heads, size, key_norm, key_eps, rotation};
  const CacheRows rows = {key, value, all, all, attention.kv_heads, size, attention.block_size, cache, step.slots(),
                          attention.form, attention.key_scale, attention.value_scale};
  place(queries, keys, rows, tokens, dtype);

  void* mixed = work.mixed.reserve(tokens * mix * bytes);
  kernelet::attention({attention, projected, all, mixed, cache, sinks}, step, dtype);
  output.weight->apply(mixed, tokens, normed, dtype, output.bias);
  const AddCall sum = {residual, normed, out, scale};
  add_norm(mlp_norm.kind, sum, rows_of(mlp_norm, out, normed, hidden), tokens, dtype);

  const int64_t wide = up.weight->outputs();
  void* raised = work.up.reserve(tokens * wide * bytes);
  void* active = work.gated.reserve(tokens * middle * bytes);
  up.weight->apply(normed, tokens, raised, dtype, up.bias);
  kernelet::activate({raised, wide, active, middle, activation, gated}, tokens, dtype);
  down.weight->apply(active, tokens, normed, dtype, down.bias);
  add({out, normed, out, scale}, tokens * hidden, dtype, true);
}

}  // namespace kernelet
