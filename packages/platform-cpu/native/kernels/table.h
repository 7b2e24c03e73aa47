// What each instruction set provides: one struct of functions a group of kernels. Functions compute one task (a panel,
// a row, a head) on the calling thread; the callers in native/bindings share tasks out.
#pragma once

#include "common/types.h"

namespace kernelet {

struct KernelTable {
  int vector_bytes;
};

}  // namespace kernelet
