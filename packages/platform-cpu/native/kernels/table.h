// What each instruction set provides: one struct of functions a group of kernels. Functions compute one task (a panel,
// a row, a head) on the calling thread; the callers in native/bindings share tasks out.
#pragma once

#include "common/types.h"
#include "kernels/attention.h"
#include "kernels/elementwise.h"
#include "kernels/linear_dense.h"
#include "kernels/linear_int.h"
#include "kernels/norm.h"
#include "kernels/rope.h"
#include "kernels/sampling.h"

namespace kernelet {

struct KernelTable {
  int vector_bytes;
  DenseKernels dense;
  IntKernels ints;
  AttentionKernels attention;
  ElementwiseKernels elementwise;
  NormKernels norm;
  RopeKernels rope;
  SamplingKernels sampling;
};

}  // namespace kernelet
