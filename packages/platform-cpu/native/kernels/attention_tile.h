// Rows of queries over one block of keys: scores, weights of a running softmax, and sums of values.
#pragma once

#include "kernels/attention.h"
#include "kernels/cache_elements.h"
#include "kernels/elementwise_math.h"
#include "kernels/pairs.h"

namespace kernelet::KERNELET_ISA {

// Rows of one register tile. A row's chain of operations is the same in every tile.
constexpr int kTileRows = 6;

inline int64_t round_up(int64_t n, int64_t multiple) { return (n + multiple - 1) / multiple * multiple; }
inline int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }
inline int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

// Buffers of a task in the wide dtype.
template <class W>
struct Scratch {
  int64_t width;  // of a row of values and of the result: size, in whole vectors
  W* keys;        // [size, kKeyBlock]
  W* values;      // [kKeyBlock, width]
  W* query;       // [rows, size]
  W* result;      // [rows, width]
  W* largest;     // [rows]
  W* total;       // [rows]

  static int64_t width_of(const AttentionLayer& layer) { return round_up(layer.size, kWideLanes<W>); }

  Scratch(const AttentionLayer& layer, int64_t rows, void* memory) {
    width = width_of(layer);
    keys = static_cast<W*>(memory);
    values = keys + layer.size * kKeyBlock;
    query = values + kKeyBlock * width;
    result = query + rows * layer.size;
    largest = result + rows * width;
    total = largest + rows;
  }
  static int64_t bytes(const AttentionLayer& layer, int64_t rows) {
    const int64_t wide = width_of(layer);
    return sizeof(W) * ((layer.size + wide) * kKeyBlock + rows * (layer.size + wide + 2));
  }
};

// Where the keys and values of a block lie.
template <class K, int kVectors>
struct Block {
  const K* keys[kVectors];  // of each vector; numbers of a key are `stride` apart
  int64_t stride;
  const K* values[kKeyBlock];
};

// Computes in W over a cache of elements E.
template <class W, class E>
struct Tile {
  using V = VecOf<W>;
  static constexpr int kLanesOf = kWideLanes<W>;
  static constexpr int kVectors = kKeyBlock / kLanesOf;
  static constexpr int kShrinks = (kTileRows + kLanesOf - 1) / kLanesOf * kLanesOf;
  // Queries, keys, values and weights are multiplied in pairs of bfloat16: copies hold words of numbers 2i and 2i + 1 of
  // a key, and of rows 2i and 2i + 1 of values.
  static constexpr bool kPairs = kHasPairs && std::is_same_v<E, bf16>;

  const AttentionLayer& layer;
  const W factor;  // of a product of query and key
  Scratch<W> scratch;
  W key_scales[kKeyBlock], value_scales[kKeyBlock];  // of the block, where each row has its own

  Tile(const AttentionLayer& l, int64_t rows, void* memory)
      : layer(l), factor(static_cast<W>(l.scale * l.key_scale * kUnit<E>)), scratch(l, rows, memory) {}

  // Words of W's size in a row of queries.
  int64_t query_stride() const { return kPairs ? (layer.size + 1) / 2 : layer.size; }

  template <class K>
  void attend_rows(const Block<K, kVectors>& held, int64_t row, int64_t rows, int64_t from, int64_t to) {
    for (; rows >= kTileRows; row += kTileRows, rows -= kTileRows) attend_tile<kTileRows>(held, row, from, to);
    switch (rows) {
      case 1: return attend_tile<1>(held, row, from, to);
      case 2: return attend_tile<2>(held, row, from, to);
      case 3: return attend_tile<3>(held, row, from, to);
      case 4: return attend_tile<4>(held, row, from, to);
      case 5: return attend_tile<5>(held, row, from, to);
    }
  }

  // Vectors of a tile of R rows: enough sums in flight for the latency of a multiply-add, and all in registers.
  template <int R>
  static constexpr int tile_vectors() {
    const int wanted = R >= 4 ? 2 : R >= 2 ? 4 : 8;
    return wanted < kVectors ? wanted : kVectors;
  }

  template <int R, class K>
  void attend_tile(const Block<K, kVectors>& held, int64_t row, int64_t from, int64_t to) {
    alignas(kVectorBytes) W weights[R * kKeyBlock];
    constexpr int kWide = tile_vectors<R>() * kLanesOf;
    const int64_t begin = from / kWide * kWide;
    for (int64_t key = begin; key < to; key += kWide) score<R>(held, row, key, weights + key);
    W shrink[kShrinks] = {}, sums[R];
    for (int r = 0; r < R; ++r) {
      W* mine = weights + r * kKeyBlock;
      if constexpr (kHasRowScales<E>) multiply(mine, key_scales, from, to);
      shrink[r] = soften(row + r, mine, from, to, sums[r]);
      if constexpr (kHasRowScales<E>) multiply(mine, value_scales, from, to);
    }
    for (int i = 0; i < R; i += kLanesOf) store(shrink + i, exp_of(load(shrink + i)));
    for (int r = 0; r < R; ++r) scratch.total[row + r] = scratch.total[row + r] * shrink[r] + sums[r];
    if constexpr (kPairs) {
      for (int r = 0; r < R; ++r) round_weights(weights + r * kKeyBlock, from, to);
    }
    W* result = scratch.result + row * scratch.width;
    int64_t d = 0;
    for (; d + kWide <= scratch.width; d += kWide) mix<R, tile_vectors<R>()>(held, result + d, d, weights, shrink, from, to);
    for (; d < scratch.width; d += kLanesOf) mix<R, 1>(held, result + d, d, weights, shrink, from, to);
  }

  // To bfloat16, in the first half of their place.
  static void round_weights(W* weights, int64_t from, int64_t to) {
    bf16* rounded = reinterpret_cast<bf16*>(weights);
    for (int64_t i = from / kLanesOf * kLanesOf; i < to; i += kLanesOf) store_rounded(rounded + i, load(weights + i));
  }

  // Scores of R queries with the keys of some vectors.
  template <int R, class K>
  void score(const Block<K, kVectors>& held, int64_t row, int64_t key, W* out) {
    constexpr int N = tile_vectors<R>();
    const W* query = scratch.query + row * query_stride();
    const K* of[N];
    for (int n = 0; n < N; ++n) of[n] = held.keys[key / kLanesOf + n];
    V sums[R][N] = {};
    for (int64_t d = 0; d < query_stride(); ++d) {
      if constexpr (kPairs) {
        vu keys[N];
        for (int n = 0; n < N; ++n) keys[n] = key_pairs(of[n], d, held.stride);
        for (int r = 0; r < R; ++r) {
          const vu x = splat_pair(reinterpret_cast<const bf16*>(query + r * query_stride() + d));
          for (int n = 0; n < N; ++n) sums[r][n] = add_pairs(sums[r][n], x, keys[n]);
        }
      } else {
        V keys[N];
        for (int n = 0; n < N; ++n) keys[n] = load_element<W>(of[n] + d * held.stride);
        for (int r = 0; r < R; ++r) {
          const V x = splat(query[r * layer.size + d]);
          for (int n = 0; n < N; ++n) sums[r][n] = fmadd(x, keys[n], sums[r][n]);
        }
      }
    }
    for (int r = 0; r < R; ++r)
      for (int n = 0; n < N; ++n)
        store(out + r * kKeyBlock + n * kLanesOf, kPairs ? sums[r][n] * splat(factor) : sums[r][n]);
  }

  static vu key_pairs(const bf16* keys, int64_t d, int64_t stride) {
    return pair_rows(keys + 2 * d * stride, keys + (2 * d + 1) * stride);
  }
  static vu key_pairs(const float* words, int64_t d, int64_t stride) { return (vu)load(words + d * stride); }

  void multiply(W* numbers, const W* by, int64_t from, int64_t to) {
    const int64_t end = round_up(to, kLanesOf);
    for (int64_t i = from / kLanesOf * kLanesOf; i < end; i += kLanesOf) store(numbers + i, load(numbers + i) * load(by + i));
  }

  // Scores of a row to weights, in place, and their sum; the logarithm of the factor of what was summed before.
  W soften(int64_t row, W* weights, int64_t from, int64_t to, W& sum) {
    const int64_t begin = from / kLanesOf * kLanesOf, end = round_up(to, kLanesOf);
    if (layer.soft_cap != 0) {
      const V cap = splat(static_cast<W>(layer.soft_cap));
      for (int64_t i = begin; i < end; i += kLanesOf) store(weights + i, tanh_of(load(weights + i) / cap) * cap);
    }
    for (int64_t i = begin; i < from; ++i) weights[i] = -W(INFINITY);
    for (int64_t i = to; i < end; ++i) weights[i] = -W(INFINITY);
    V most = splat(scratch.largest[row]);
    for (int64_t i = begin; i < end; i += kLanesOf) {
      const V x = load(weights + i);
      most = x > most ? x : most;
    }
    const W largest = lane_max(most);
    // where all scores are -inf, a difference to 0 keeps NaN for rows that hold it
    const W reference = largest > -W(INFINITY) ? largest : 0;
    V sums = {};
    for (int64_t i = begin; i < end; i += kLanesOf) {
      const V p = exp_of(load(weights + i) - reference);
      store(weights + i, p);
      sums += p;
    }
    sum = lane_sum(sums);
    const W before = scratch.largest[row];
    scratch.largest[row] = largest;
    return before - reference;
  }

  // result = result * shrink + weights @ values, for R rows and N vectors of columns.
  template <int R, int N, class K>
  void mix(const Block<K, kVectors>& held, W* result, int64_t column, const W* weights, const W* shrink, int64_t from, int64_t to) {
    V sums[R][N];
    for (int r = 0; r < R; ++r)
      for (int n = 0; n < N; ++n) sums[r][n] = load(result + r * scratch.width + n * kLanesOf) * splat(shrink[r]);
    if constexpr (kPairs) {
      for (int64_t key = from / 2 * 2; key < to; key += 2) {
        vu values[N];
        for (int n = 0; n < N; ++n) values[n] = value_pairs(held, key, column + n * kLanesOf);
        if (key < from || key + 1 == to) {  // what lies beside may be no number
          const uint32_t mine = (key < from ? 0 : 0xffff) | (key + 1 == to ? 0 : 0xffff0000);
          for (int n = 0; n < N; ++n) values[n] &= mine;
        }
        for (int r = 0; r < R; ++r) {
          const vu x = splat_pair(reinterpret_cast<const bf16*>(weights + r * kKeyBlock) + key);
          for (int n = 0; n < N; ++n) sums[r][n] = add_pairs(sums[r][n], x, values[n]);
        }
      }
    } else {
      for (int64_t key = from; key < to; ++key) {
        V values[N];
        for (int n = 0; n < N; ++n) values[n] = load_element<W>(held.values[key] + column + n * kLanesOf);
        for (int r = 0; r < R; ++r) {
          const V x = splat(weights[r * kKeyBlock + key]);
          for (int n = 0; n < N; ++n) sums[r][n] = fmadd(x, values[n], sums[r][n]);
        }
      }
    }
    for (int r = 0; r < R; ++r)
      for (int n = 0; n < N; ++n) store(result + r * scratch.width + n * kLanesOf, sums[r][n]);
  }

  static vu value_pairs(const Block<bf16, kVectors>& held, int64_t key, int64_t column) {
    return pair_rows(held.values[key] + column, held.values[key + 1] + column);
  }
  static vu value_pairs(const Block<float, kVectors>& held, int64_t key, int64_t column) {
    return (vu)load(held.values[key] + column);
  }
};

}  // namespace kernelet::KERNELET_ISA
