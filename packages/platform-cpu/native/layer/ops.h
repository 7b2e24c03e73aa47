// Ops of the ladder on whole steps: tasks of the kernels, shared out to the threads of pool().
#pragma once

#include "common/types.h"
#include "kernels/attention.h"
#include "kernels/elementwise.h"
#include "kernels/norm.h"
#include "kernels/rope.h"
#include "layer/step.h"

namespace kernelet {

enum class NormKind : int { rms = 0, layer = 1 };

// `of_wide`: x is in the wide dtype, and y of `dtype`.
void norm(NormKind kind, const NormRows& rows, int64_t count, Dtype dtype, bool of_wide);

// total = residual + scale * x over contiguous [count, norm.size], then the norm of total. residual and total are wide
// where `wide`, x and norm.y of `dtype`.
void add_norm(NormKind kind, const AddCall& add, const NormRows& norm, int64_t count, Dtype dtype);

// `to_wide`: x and out are in the wide dtype, y of `dtype`.
void add(const AddCall& call, int64_t elements, Dtype dtype, bool to_wide);

void activate(const ActivationRows& rows, int64_t count, Dtype dtype);

void heads(const HeadRows& rows, int64_t tokens, Dtype dtype);

// All of what comes between the QKV projection and attention: norms and rotation of queries and keys, then the cache.
void place(const HeadRows& query, const HeadRows& key, const CacheRows& cache, int64_t tokens, Dtype dtype);

void write(const CacheRows& rows, int64_t tokens, Dtype dtype);

void attention(const AttentionCall& call, AttentionStep& step, Dtype dtype);

}  // namespace kernelet
