#include "linear/experts.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>

#include "isa/isa.h"
#include "kernels/table.h"
#include "linear/scratch.h"
#include "pool/pool.h"

namespace kernelet {
namespace {

constexpr int64_t kChoicesAtOnce = 2048;  // so that memory between the products is bounded
constexpr int64_t kExpertsPerThread = 3;  // from so many on, threads take experts rather than parts of one

// Places [first, last) of the sorted choices are those of one expert.
struct Part {
  int64_t expert, first, last;
};

}  // namespace

Experts::Experts(std::vector<const PackedLinear*> gate_up, std::vector<const PackedLinear*> down, Activation activation)
    : gate_up_(std::move(gate_up)), down_(std::move(down)), activation_(activation) {
  if (gate_up_.empty() || gate_up_.size() != down_.size()) throw std::invalid_argument("an expert has two weights");
  for (size_t i = 0; i < down_.size(); ++i)
    if (gate_up_[i]->outputs() != 2 * down_[i]->inputs() || gate_up_[i]->inputs() != down_[i]->outputs() ||
        gate_up_[i]->outputs() != gate_up_[0]->outputs() || gate_up_[i]->inputs() != gate_up_[0]->inputs())
      throw std::invalid_argument("the weights of expert " + std::to_string(i) + " do not fit");
}

void Experts::apply(const void* x, int64_t rows, const int64_t* ids, int64_t choices, void* out, Dtype dtype) const {
  const auto known = [&](int64_t id) { return id >= 0 && id < static_cast<int64_t>(down_.size()); };
  if (!std::all_of(ids, ids + rows * choices, known)) throw std::out_of_range("an id is no expert's");
  const int64_t row_bytes = gate_up_[0]->inputs() * size_of(dtype);
  const int64_t step = std::max<int64_t>(1, kChoicesAtOnce / std::max<int64_t>(choices, 1));
  for (int64_t row = 0; row < rows; row += step)
    apply_some(static_cast<const char*>(x) + row * row_bytes, std::min(step, rows - row), ids + row * choices, choices,
               static_cast<char*>(out) + row * choices * row_bytes, dtype);
}

void Experts::apply_some(const char* x, int64_t rows, const int64_t* ids, int64_t choices, char* out,
                         Dtype dtype) const {
  const int64_t count = rows * choices, size = size_of(dtype);
  const int64_t hidden = gate_up_[0]->inputs() * size, both = gate_up_[0]->outputs() * size, middle = both / 2;
  std::vector<int64_t> order(static_cast<size_t>(count));  // choices, sorted by expert
  for (int64_t i = 0; i < count; ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return ids[a] < ids[b]; });
  std::vector<Part> parts;
  for (int64_t i = 0; i < count; ++i) {
    if (i == 0 || ids[order[i]] != parts.back().expert) parts.push_back({ids[order[i]], i, i});
    parts.back().last = i + 1;
  }
  std::stable_sort(parts.begin(), parts.end(),
                   [](const Part& a, const Part& b) { return a.last - a.first > b.last - b.first; });

  static thread_local Scratch scratch;
  char* const inputs = static_cast<char*>(scratch.take(count * (hidden + both + middle)));
  char* const wide = inputs + count * hidden;
  char* const gated = wide + count * both;
  const auto compute = [&](int64_t index) {
    const Part& part = parts[static_cast<size_t>(index)];
    const int64_t from = part.first, length = part.last - part.first;
    for (int64_t i = from; i < part.last; ++i) std::memcpy(inputs + i * hidden, x + order[i] / choices * hidden, hidden);
    gate_up_[part.expert]->apply(inputs + from * hidden, length, wide + from * both, dtype, nullptr);
    const ActivationRows rows_of = {wide + from * both, both / size, gated + from * middle, middle / size, activation_, true};
    kernels().elementwise.activate[static_cast<int>(dtype)](rows_of, 0, length);
    // the inputs are not needed any more: results take their place
    down_[part.expert]->apply(gated + from * middle, length, inputs + from * hidden, dtype, nullptr);
    for (int64_t i = from; i < part.last; ++i) std::memcpy(out + order[i] * hidden, inputs + i * hidden, hidden);
  };
  const auto active = static_cast<int64_t>(parts.size());
  if (active >= kExpertsPerThread * pool().threads()) {
    pool().run(active, compute);  // a product inside finds the pool taken, and is computed by its thread
  } else {
    for (int64_t i = 0; i < active; ++i) compute(i);
  }
}

}  // namespace kernelet
