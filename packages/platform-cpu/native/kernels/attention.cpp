#include "kernels/attention.h"

#include "kernels/attention_tile.h"

namespace kernelet::KERNELET_ISA {
namespace {

// So few rows read keys and values where they lie; for more, those are widened once, into a copy.
constexpr int64_t kReadInPlace = 2 * kTileRows;

// Queries of a request over its pages, a block of keys after the other. Computes in W over a cache of elements E.
template <class W, class E>
struct Task : Tile<W, E> {
  using Tile<W, E>::kLanesOf, Tile<W, E>::kVectors, Tile<W, E>::kPairs;
  using Tile<W, E>::layer, Tile<W, E>::factor, Tile<W, E>::scratch, Tile<W, E>::key_scales, Tile<W, E>::value_scales;
  using Tile<W, E>::query_stride, Tile<W, E>::attend_rows;
  using typename Tile<W, E>::V;

  const AttentionCall& call;
  const AttentionTask& task;
  const int64_t group;
  Block<E, kVectors> pages;
  Block<W, kVectors> copies;

  Task(const AttentionCall& c, const AttentionTask& t, void* memory)
      : Tile<W, E>(c.layer, t.count * (c.layer.heads / c.layer.kv_heads), memory),
        call(c), task(t), group(c.layer.heads / c.layer.kv_heads) {}

  int64_t first_key(int64_t position) const {
    return layer.window ? larger(0, position - layer.window + 1) : 0;
  }

  template <class S>
  void run() {
    take_queries<S>();
    const bool whole = layer.size % kLanesOf == 0 && layer.block_size % kLanesOf == 0;
    const bool in_place = whole && task.count * group <= kReadInPlace;
    if (!in_place) take_room();
    const int64_t end = task.position + task.count;
    for (int64_t block = first_key(task.position) / kKeyBlock * kKeyBlock; block < end; block += kKeyBlock) {
      const int64_t from = larger(block, first_key(task.position)), to = smaller(block + kKeyBlock, end);
      if constexpr (kHasRowScales<E>) take_scales(block, from, to);
      if (in_place) {
        find_keys(block, from, to);
        attend_block(block, pages);
      } else {
        take_keys(block, from, to);
        attend_block(block, copies);
      }
    }
    give_results<S>();
  }

  void take_room() {
    for (int64_t i = 0; i < kKeyBlock * scratch.width; ++i) scratch.values[i] = 0;
    copies.stride = kKeyBlock;
    for (int n = 0; n < kVectors; ++n) copies.keys[n] = scratch.keys + n * kLanesOf;
    for (int64_t key = 0; key < kKeyBlock; ++key)
      copies.values[key] = scratch.values + (kPairs ? key / 2 : key) * scratch.width;
  }

  const E* page_at(int64_t position) const {
    const int64_t page = task.blocks[position / layer.block_size] * layer.kv_heads + task.kv_head;
    const char* start = static_cast<const char*>(call.cache) + page * page_bytes<E>(layer.size, layer.block_size);
    return reinterpret_cast<const E*>(start);
  }

  void take_scales(int64_t block, int64_t from, int64_t to) {
    const int64_t tokens = layer.block_size;
    for (int64_t key = 0; key < kKeyBlock; ++key) key_scales[key] = value_scales[key] = 0;
    for (int64_t start = from, stop; start < to; start = stop) {
      const int64_t offset = start % tokens;
      stop = smaller(start - offset + tokens, to);
      const E* scales = page_at(start) + 2 * layer.size * tokens + offset * static_cast<int64_t>(sizeof(float));
      float held[kKeyBlock];
      const size_t bytes = static_cast<size_t>(stop - start) * sizeof(float);
      std::memcpy(held, scales, bytes);
      for (int64_t i = 0; i < stop - start; ++i) key_scales[start - block + i] = held[i];
      std::memcpy(held, scales + tokens * static_cast<int64_t>(sizeof(float)), bytes);
      for (int64_t i = 0; i < stop - start; ++i) value_scales[start - block + i] = held[i];
    }
  }

  // Vectors of keys and values of positions [from, to). Of other vectors of the block, which are read and not used, one
  // that is there.
  void find_keys(int64_t block, int64_t from, int64_t to) {
    const int64_t size = layer.size, tokens = layer.block_size;
    pages.stride = tokens;
    for (int64_t n = 0; n < kVectors; ++n) {
      const int64_t start = block + n * kLanesOf;
      const bool there = start + kLanesOf > from && start < to;
      const int64_t position = there ? start : from / kLanesOf * kLanesOf;
      pages.keys[n] = page_at(position) + position % tokens;
    }
    for (int64_t position = from; position < to; ++position)
      pages.values[position - block] = page_at(position) + (tokens + position % tokens) * size;
    if constexpr (kPairs) {  // the other half of a pair, which is read and not used
      if (from % 2) pages.values[from - block - 1] = pages.values[from - block];
      if (to % 2) pages.values[to - block] = pages.values[to - block - 1];
    }
  }

  template <class S>
  void take_queries() {
    const S* source = static_cast<const S*>(call.query) + task.token * call.query_stride + task.kv_head * group * layer.size;
    const S* sinks = static_cast<const S*>(call.sinks);
    W* query = scratch.query;
    for (int64_t token = 0; token < task.count; ++token)
      for (int64_t head = 0; head < group; ++head, query += query_stride()) {
        const S* row = source + token * call.query_stride + head * layer.size;
        if constexpr (kPairs) {
          query[query_stride() - 1] = 0;
          std::memcpy(query, row, static_cast<size_t>(layer.size) * sizeof(S));
        } else {
          each_vector<S>(layer.size, [&](int64_t i, int n) { narrow(query + i, widen(row + i, n) * splat(factor), n); });
        }
      }
    const int64_t rows = task.count * group;
    for (int64_t row = 0; row < rows; ++row) {
      scratch.largest[row] = sinks ? widen_part(sinks + task.kv_head * group + row % group, 1)[0] : -W(INFINITY);
      scratch.total[row] = sinks ? 1 : 0;
    }
    for (int64_t i = 0; i < rows * scratch.width; ++i) scratch.result[i] = 0;
  }

  // Keys and values of the pages that hold positions [from, to), whole pages where they lie in the block.
  void take_keys(int64_t block, int64_t from, int64_t to) {
    const int64_t size = layer.size, tokens = layer.block_size;
    for (int64_t page = from / tokens; page * tokens < to; ++page) {
      const E* keys = page_at(page * tokens);
      const int64_t start = larger(page * tokens, block), stop = smaller((page + 1) * tokens, block + kKeyBlock);
      const int64_t skipped = start - page * tokens, count = stop - start;
      if constexpr (kPairs) {
        const int64_t key = start - block;
        pair_keys(keys + skipped, size, tokens, count, scratch.keys + key, kKeyBlock);
        pair_values(keys + size * tokens + skipped * size, size, key, count, scratch.values, scratch.width);
        continue;
      }
      for (int64_t d = 0; d < size; ++d) {
        const E* source = keys + d * tokens + skipped;
        W* target = scratch.keys + d * kKeyBlock + (start - block);
        each_vector<W>(count, [&](int64_t i, int n) { narrow(target + i, widen_element<W>(source + i, n), n); });
      }
      const E* values = keys + size * tokens + skipped * size;
      for (int64_t token = 0; token < count; ++token) {
        const E* source = values + token * size;
        W* target = scratch.values + (start - block + token) * scratch.width;
        each_vector<W>(size, [&](int64_t i, int n) { narrow(target + i, widen_element<W>(source + i, n), n); });
      }
    }
  }

  // Queries that see all of the block go in tiles of rows, others a position at a time.
  template <class K>
  void attend_block(int64_t block, const Block<K, kVectors>& held) {
    int64_t token = larger(0, block - task.position);  // those before see none of it
    while (token < task.count) {
      const int64_t position = task.position + token;
      const int64_t from = larger(first_key(position) - block, 0), to = smaller(position + 1 - block, kKeyBlock);
      if (from >= kKeyBlock) return;  // it left the window of this one, and of all after it
      int64_t count = 1;
      if (from == 0 && to == kKeyBlock) {
        count = task.count - token;
        if (layer.window) count = smaller(count, block + layer.window - position);
      }
      attend_rows(held, token * group, count * group, from, to);
      token += count;
    }
  }

  template <class S>
  void give_results() {
    const V unit = splat(static_cast<W>(layer.value_scale * kUnit<E>));
    S* target = static_cast<S*>(call.out) + (task.token * layer.heads + task.kv_head * group) * layer.size;
    for (int64_t row = 0; row < task.count * group; ++row) {
      S* out = target + (row / group * layer.heads + row % group) * layer.size;
      const W* result = scratch.result + row * scratch.width;
      const V total = splat(scratch.total[row]);
      each_vector<S>(layer.size, [&](int64_t i, int n) {
        const V mixed = load(result + i) / total;
        if constexpr (kUnit<E> == 1)
          narrow(out + i, mixed, n);
        else
          narrow(out + i, mixed * unit, n);
      });
    }
  }
};

template <class S>
int64_t scratch_bytes(const AttentionLayer& layer, int64_t count) {
  return Scratch<Wide<S>>::bytes(layer, count * (layer.heads / layer.kv_heads));
}

template <class S, class E>
void attend(const AttentionCall& call, const AttentionTask& task, void* scratch) {
  Task<Wide<S>, E>(call, task, scratch).template run<S>();
}

}  // namespace

AttentionKernels attention_kernels() {
  return {
      .scratch = {scratch_bytes<float>, scratch_bytes<bf16>, scratch_bytes<fp16>, scratch_bytes<double>},
      .attend = {{attend<float, float>, attend<bf16, bf16>, attend<fp16, fp16>, attend<double, double>},
                 {attend<float, e4m3>, attend<bf16, e4m3>, attend<fp16, e4m3>, attend<double, e4m3>},
                 {attend<float, int8_t>, attend<bf16, int8_t>, attend<fp16, int8_t>, attend<double, int8_t>}},
  };
}

}  // namespace kernelet::KERNELET_ISA
