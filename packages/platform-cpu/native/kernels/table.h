// What each instruction set provides: one struct of functions a group of kernels. Functions compute one task (a panel,
// a row, a head) on the calling thread; the callers in native/bindings share tasks out.
#pragma once

#include "common/types.h"
#include "kernels/attention.h"
#include "kernels/elementwise.h"
#include "kernels/linear_dense.h"
#include "kernels/norm.h"
#include "kernels/rope.h"

namespace kernelet {

struct KernelTable {
  int vector_bytes;
  DenseKernels dense;
  AttentionKernels attention;
  ElementwiseKernels elementwise;
  NormKernels norm;
  RopeKernels rope;
};

}  // namespace kernelet
