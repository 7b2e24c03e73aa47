// What happens to the output of a QKV projection: norms of heads, rotation, and the way into the cache.
#pragma once

#include <cstdint>

#include "kernels/attention.h"

namespace kernelet {

// Rows of cos and sin in the wide dtype, `stride` elements a token; sin has the sign.
struct Rotation {
  const void* cos;  // nullptr: no rotation
  const void* sin;
  int64_t stride;
  int64_t size;  // elements of a head that are rotated
  bool interleaved;
};

// Heads [tokens, heads, size] that are changed in place: norm of each head (where it has a weight), then rotation.
struct HeadRows {
  void* x;
  int64_t token_stride, head_stride;
  int64_t heads, size;
  const void* weight;  // of an RMS norm, wide; nullptr: none
  double eps;
  Rotation rotation;
};

// Keys and values [tokens, kv_heads, size] and where they go in a cache as in attention.h.
struct CacheRows {
  const void* key;
  const void* value;
  int64_t key_stride, value_stride;  // elements between tokens
  int64_t kv_heads, size, block_size;
  void* cache;
  const int64_t* slots;  // [tokens], block * block_size + offset
  CacheForm form;
  float key_scale, value_scale;  // of e4m3fn
};

// By dtype, in the order of Dtype; they compute tokens [from, to).
struct RopeKernels {
  void (*heads[4])(const HeadRows&, int64_t from, int64_t to);
  void (*write[kCacheForms][4])(const CacheRows&, int64_t from, int64_t to);
};

}  // namespace kernelet
