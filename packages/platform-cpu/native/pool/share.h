// Work of many small items, in parts for the threads of pool().
#pragma once

#include <algorithm>
#include <cstdint>

#include "pool/pool.h"

namespace kernelet {

// Elements that are worth waking a thread for.
constexpr int64_t kTaskElements = 1 << 13;

// fn(from, to) over parts of [0, count); an item is `elements` numbers.
template <class F>
void share(int64_t count, int64_t elements, F&& fn) {
  const int64_t most = std::min<int64_t>(count, 4 * pool().threads());
  const int64_t tasks = std::clamp<int64_t>(count * elements / kTaskElements, 1, std::max<int64_t>(most, 1));
  pool().run(tasks, [&](int64_t task) { fn(count * task / tasks, count * (task + 1) / tasks); });
}

// fn(item) for each of them.
template <class F>
void share_each(int64_t count, int64_t elements, F&& fn) {
  share(count, elements, [&](int64_t from, int64_t to) {
    for (int64_t item = from; item < to; ++item) fn(item);
  });
}

}  // namespace kernelet
