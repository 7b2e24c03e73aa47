// Attention of consecutive queries of one request over a paged cache.
#pragma once

#include <cstdint>

namespace kernelet {

// Keys that a running softmax takes at once; blocks begin at multiples of this position, in every call.
constexpr int64_t kKeyBlock = 64;

// Queries (times the heads of their group) that are best computed together.
constexpr int64_t kQueryRows = 96;

// Elements of the cache: of the layer's dtype, or of 8 bits with scales: e4m3fn with one of all keys and one of all
// values, int8 with one of each token and head. In the order of kernelet_platform_cpu.attention.forms.FORMS.
enum class CacheForm : int { own = 0, e4m3fn = 1, int8 = 2 };
constexpr int kCacheForms = 3;

// What the layers of a model differ in. A page of the cache is one block of one head: keys [size, block_size], then
// values [block_size, size], then, of int8, float scales of keys [block_size] and of values [block_size]; a block is the
// pages of all its heads.
struct AttentionLayer {
  int64_t heads, kv_heads, size, block_size;
  int64_t window;   // tokens seen, itself included; 0: all
  double scale;     // factor of q.k
  double soft_cap;  // 0: none
  CacheForm form;
  float key_scale, value_scale;  // of e4m3fn
};

// What a step computes with, of the dtype that the kernel was chosen by.
struct AttentionCall {
  AttentionLayer layer;
  const void* query;  // [tokens, heads, size]; tokens are query_stride elements apart
  int64_t query_stride;
  void* out;  // [tokens, heads, size], contiguous
  const void* cache;
  const void* sinks;  // [heads]; nullptr: none
};

// Consecutive queries of one request and the heads that share a key and value head.
struct AttentionTask {
  int64_t token;     // of the first query, in the step
  int64_t position;  // of the first query, in its request
  int64_t count;
  int64_t kv_head;
  const int32_t* blocks;  // of the request
};

struct AttentionKernels {
  // Bytes of scratch that a task of `count` queries needs, and the task; by dtype, in the order of Dtype.
  int64_t (*scratch[4])(const AttentionLayer&, int64_t count);
  void (*attend[kCacheForms][4])(const AttentionCall&, const AttentionTask&, void* scratch);
};

}  // namespace kernelet
