#include "layer/step.h"

#include <algorithm>

namespace kernelet {

const std::vector<AttentionStep::Tile>& AttentionStep::tiles(int64_t queries) {
  if (queries == queries_) return tiles_;
  tiles_.clear();
  for (int64_t request = 0; request < requests_; ++request) {
    const int64_t first = starts_[request], count = starts_[request + 1] - first, start = lengths_[request] - count;
    for (int64_t i = 0; i < count; i += queries)
      tiles_.push_back({first + i, start + i, std::min(queries, count - i), blocks_ + request * columns_});
  }
  std::stable_sort(tiles_.begin(), tiles_.end(), [](const Tile& a, const Tile& b) {
    return a.count * (a.position + a.count) > b.count * (b.position + b.count);
  });
  queries_ = queries;
  return tiles_;
}

}  // namespace kernelet
