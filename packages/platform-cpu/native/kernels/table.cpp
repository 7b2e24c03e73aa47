#include "kernels/table.h"

#include "kernels/vec.h"

namespace kernelet::KERNELET_ISA {

const KernelTable& table() {
  static const KernelTable kernels = {
      .vector_bytes = kVectorBytes,
  };
  return kernels;
}

}  // namespace kernelet::KERNELET_ISA
