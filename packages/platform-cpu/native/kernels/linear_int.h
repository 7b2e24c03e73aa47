// Weights of 4 or 8 bits: their layout, and the kernels that read it.
#pragma once

#include <cstdint>

#include "common/types.h"

namespace kernelet {

// A weight [outputs, inputs] is held in panels of `IntKernels::panel` outputs. A panel has, for each group of inputs in
// turn: a float scale of each output; a zero point of each where `zero` says so; the elements, stored unsigned, four
// inputs of an output side by side. Of 4 bits, input k is the low half of a byte and input k + 4 the high one. Bytes
// that are multiplied with inputs as they are lie in the order of the outputs, an input after the other. Inputs are
// padded to a multiple of 8 and outputs to whole panels.
struct IntFormat {
  enum class Zero : int { constant, bytes, floats };
  enum class Round : int { never, by_row, by_scale };

  int64_t outputs, inputs;
  int64_t group;      // inputs that share a scale: a multiple of 8, the last group may be shorter
  int bits;           // 4 or 8
  int origin;         // added to an element where it is stored; its zero point where `zero` is constant
  Zero zero;
  Round round;        // inputs are made int8: never, with a scale of each row, with `input_scale`
  float input_scale;

  int64_t padded() const { return (inputs + 7) / 8 * 8; }
  int64_t groups() const { return (inputs + group - 1) / group; }
  bool by_input() const { return bits == 8 && round == Round::never; }
};

// What a weight is packed from: bytes [outputs, inputs]; float scales [outputs, groups]; zero points as large, bytes
// (with `origin` added) or floats.
struct IntSource {
  const uint8_t* elements;
  const float* scales;
  const void* zeros;
};

struct IntProduct {
  const IntFormat& format;
  const uint8_t* packed;   // all panels
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
