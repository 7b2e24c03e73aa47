// A decoder layer with its norms before each block, in one call.
#pragma once

#include "layer/buffer.h"
#include "layer/ops.h"
#include "linear/linear.h"

namespace kernelet {

// Buffers that the layers of a model share; of one thread at a time.
struct Workspace {
  Buffer normed, qkv, mixed, up, gated;
};

struct NormWeights {
  NormKind kind;
  const void* weight;  // wide
  const void* bias;    // wide; nullptr: none
  double eps;
};

struct LinearWeights {
  const PackedLinear* weight;
  const void* bias;  // nullptr: none
};

struct DecoderLayer {
  Dtype dtype;
  double scale;  // of what is added to the residual stream
  NormWeights attention_norm, mlp_norm;
  LinearWeights qkv, output, up, down;
  AttentionLayer attention;
  const void* query_norm;  // weight of an RMS norm of each head, wide; nullptr: none
  const void* key_norm;
  double query_eps, key_eps;
  const void* sinks;  // nullptr: none
  void* cache;
  Activation activation;
  bool gated;

  // out = the layer of residual; both [step.tokens(), hidden], wide, and not the same memory.
  void run(const void* residual, void* out, AttentionStep& step, const Rotation& rotation, Workspace& work) const;
};

}  // namespace kernelet
