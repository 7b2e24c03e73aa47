// Products with unquantized weights. A weight [outputs, inputs] is kept in panels: `columns` outputs, whose numbers lie
// side by side for each granule of inputs; the last panel is filled up with zeros. An output is the sum of spans of its inputs, each a
// chain of fused multiply-adds in increasing order, in whatever tile it is computed: its bits depend on its row alone.
#pragma once

#include "common/types.h"

namespace kernelet {

struct DenseProduct {
  const void* x;        // tiles, as Way::tile made them
  int64_t rows;         // the last tile has the rest
  int64_t inputs;       // whole granules: what is beyond the weight's is zero in both
  int64_t outputs;
  const void* weight;   // panels
  const void* bias;     // [outputs] up to whole panels, of x's type; nullptr: none
  void* y;              // [rows, outputs]
  Dtype dtype;          // of y
  int64_t ahead;        // bytes of the weight that are asked for before they are read
};

constexpr int64_t whole_granules(int64_t inputs, int64_t granule) { return (inputs + granule - 1) / granule * granule; }

struct DenseKernels {
  // How inputs are multiplied: what they become first, and the products.
  struct Way {
    int input_bytes;  // of one number of a tile
    // Rows of `dtype` [count <= tile_rows, inputs] -> a tile [granule][row][input of the granule], filled up with zeros.
    void (*tile)(const void* rows, int64_t count, int64_t inputs, Dtype dtype, void* tile);
    // Tiles [first_tile, last_tile) of y in the columns of panels [first_panel, last_panel). `sums` is room for
    // columns * tile_rows sums for each pair of them.
    void (*multiply)(const DenseProduct& product, int64_t first_panel, int64_t last_panel, int64_t first_tile,
                     int64_t last_tile, void* sums);
  };
  struct Storage {
    int columns;
    int tile_rows;
    int slice;    // inputs, about, that tiles go over before the next ones
    int granule;  // inputs that lie together in a panel
    // Rows [columns or fewer, inputs] that are `stride` elements apart -> a panel.
    void (*pack)(const void* rows, int64_t stride, int64_t count, int64_t inputs, void* panel);
    // Row `column` of a panel, as it was packed.
    void (*unpack)(const void* panel, int64_t column, int64_t inputs, void* row);
    Way wide;    // inputs of any dtype, as what is summed: float, or double for double weights
    Way narrow;  // inputs of the weight's own dtype, as they are; without functions where no instruction does that

    // Inputs, filled up to whole granules.
    int64_t depth(int64_t inputs) const { return whole_granules(inputs, granule); }
  };
  Storage storage[4];  // by Dtype of the weight
};

}  // namespace kernelet
