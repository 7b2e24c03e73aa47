// Rows of inputs as the integer kernels read them.
#pragma once

#include "kernels/linear_int_layout.h"

namespace kernelet::KERNELET_ISA {

// float32 or float64, padded with zeros; or rounded to int8: see `RoundedRow`.
void encode(const IntFormat& format, const void* x, Dtype dtype, uint8_t* row);

}  // namespace kernelet::KERNELET_ISA
