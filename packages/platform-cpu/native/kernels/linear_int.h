// Weights of 2 to 8 bits, whole numbers or small floats: their layout, and the kernels that read it.
#pragma once

#include <cstdint>

#include "common/types.h"

namespace kernelet {

// A weight [outputs, inputs] is held in panels of `IntKernels::panel` outputs. A panel is a row of stretches: as few groups
// of inputs as make whole granules (below). A stretch has, where a coarse block begins, the block's scales (and offsets);
// then the scales, zero points or offsets of each of its groups; then its elements. All of these lie in the order of the
// outputs.
//
// Elements are stored unsigned, four inputs of an output side by side in a word, in planes of 1, 2 or 4 of their bits: a
// word has so many bits of 32, 16 or 8 inputs, input k in byte k % 4, at bit k / 4 times the plane's bits. A granule is the
// least that has whole words of all planes; in it the highest bits come first. Bytes are one plane: two words for 8 inputs.
// Bytes that are multiplied with inputs in float lie in the order of the outputs, an input after the other. Inputs are
// padded to a multiple of 8, elements to granules, and outputs to panels.
struct IntFormat {
  enum class Element : int { whole, e4m3fn, e5m2 };
  enum class Scale : int { floats, halves, bytes, signed_bytes, nibbles };  // nibbles: the high ones are of the offset
  enum class Coarse : int { none, floats, halves };
  enum class Zero : int { constant, bytes, floats, offsets };
  enum class Round : int { never, by_row, by_scale, e4m3fn_by_row, e4m3fn_by_scale, e5m2_by_row, e5m2_by_scale };

  int64_t outputs, inputs;
  int64_t group;      // inputs that share a scale: a multiple of 8, the last group may be shorter
  int64_t block;      // inputs that share a coarse scale: whole stretches
  int bits;           // 2 to 6 or 8
  int origin;         // added to an element where it is stored; its zero point where `zero` is constant or offsets
  Element element;    // e4m3fn: scales are those of 1/256 of the elements
  Scale scale;        // of groups, and their offsets
  Coarse coarse;      // of blocks, and their offsets
  Zero zero;
  Round round;        // inputs become int8, e4m3fn, e5m2: never, with a scale of each row, with `input_scale`
  float input_scale;

  int64_t padded() const { return (inputs + 7) / 8 * 8; }
  int64_t groups() const { return (inputs + group - 1) / group; }
  int64_t blocks() const { return (inputs + block - 1) / block; }
  int64_t granule() const { return bits == 4 || bits == 8 ? 8 : bits % 2 ? 32 : 16; }
  int64_t stretch() const {  // their least common multiple
    const int64_t twos = group & -group;
    return twos < granule() ? group * (granule() / twos) : group;
  }
  // Products of whole numbers; else inputs are float (double), whatever they were rounded to.
  bool whole_inputs() const { return element == Element::whole && (round == Round::by_row || round == Round::by_scale); }
  bool by_input() const { return bits == 8 && !whole_inputs(); }
};

// What a weight is packed from: bytes [outputs, inputs]; scales [outputs, groups] as `scale` says, zero points (bytes have
// `origin` added) or offsets as large; coarse scales and offsets [outputs, blocks].
struct IntSource {
  const uint8_t* elements;
  const void* scales;
  const void* zeros;
  const void* coarse;
  const void* coarse_offsets;
};

struct IntProduct {
  const IntFormat& format;
  const uint8_t* packed;   // all panels
  int64_t panel_bytes;
  const uint8_t* encoded;  // rows
  int64_t rows;
  const void* bias;  // [outputs], of y's type; nullptr: none
  void* y;           // [rows, outputs]
  Dtype dtype;       // of y, and of what was encoded
  int64_t ahead;     // bytes of the weight that are asked for before they are read
};

struct IntKernels {
  int64_t panel;
  int64_t (*panel_bytes)(const IntFormat&);
  void (*pack)(const IntFormat&, const IntSource&, int64_t panel, uint8_t* out);

  // Rows of inputs are encoded first, once for all panels.
  int64_t (*row_bytes)(const IntFormat&, Dtype);
  void (*encode)(const IntFormat&, const void* x, Dtype, uint8_t* row);

  // y in the columns of panels [first_panel, last_panel).
  void (*multiply)(const IntProduct&, int64_t first_panel, int64_t last_panel);

  // One row of the weight, in float32.
  void (*gather)(const IntFormat&, const uint8_t* panel, int64_t column, float* out);
};

}  // namespace kernelet
