#include "kernels/table.h"

#include "kernels/vec.h"

namespace kernelet::KERNELET_ISA {

DenseKernels dense_kernels();
IntKernels int_kernels();
AttentionKernels attention_kernels();
ElementwiseKernels elementwise_kernels();
NormKernels norm_kernels();
RopeKernels rope_kernels();
SamplingKernels sampling_kernels();

const KernelTable& table() {
  static const KernelTable kernels = {
      .vector_bytes = kVectorBytes,
      .dense = dense_kernels(),
      .ints = int_kernels(),
      .attention = attention_kernels(),
      .elementwise = elementwise_kernels(),
      .norm = norm_kernels(),
      .rope = rope_kernels(),
      .sampling = sampling_kernels(),
  };
  return kernels;
}

}  // namespace kernelet::KERNELET_ISA
