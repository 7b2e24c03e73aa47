// The networks of a mixture of experts.
#pragma once

#include <vector>

#include "kernels/elementwise.h"
#include "linear/linear.h"

namespace kernelet {

class Experts {
 public:
  // One of each an expert, [2 middle, hidden] and [hidden, middle]; they must outlive this.
  // Throws std::invalid_argument where they do not fit each other.
  Experts(std::vector<const PackedLinear*> gate_up, std::vector<const PackedLinear*> down, Activation activation);

  // out[rows * choices, hidden]: what the network of expert ids[row * choices + choice] makes of x[row, hidden].
  // Throws std::out_of_range for an id that is none. What a row becomes depends on it alone.
  void apply(const void* x, int64_t rows, const int64_t* ids, int64_t choices, void* out, Dtype dtype) const;

 private:
  void apply_some(const char* x, int64_t rows, const int64_t* ids, int64_t choices, char* out, Dtype dtype) const;

  std::vector<const PackedLinear*> gate_up_, down_;
  Activation activation_;
};

}  // namespace kernelet
