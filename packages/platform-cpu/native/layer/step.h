// A step as one cache group sees it, for the layers that share it.
#pragma once

#include <cstdint>
#include <vector>

namespace kernelet {

class AttentionStep {
 public:
  // Arrays of contracts.attention.AttentionBatch; whoever makes this keeps them alive.
  AttentionStep(const int32_t* starts, const int32_t* lengths, int64_t requests, const int32_t* blocks,
                int64_t columns, const int64_t* slots, int64_t tokens)
      : starts_(starts), lengths_(lengths), requests_(requests), blocks_(blocks), columns_(columns), slots_(slots),
        tokens_(tokens) {}

  // Consecutive queries of one request that are computed together.
  struct Tile {
    int64_t token;
    int64_t position;
    int64_t count;
    const int32_t* blocks;
  };

  // The step in tiles of at most so many queries, the longest work first. Kept for the layers that follow.
  const std::vector<Tile>& tiles(int64_t queries);

  int64_t tokens() const { return tokens_; }
  const int64_t* slots() const { return slots_; }

 private:
  const int32_t* starts_;
  const int32_t* lengths_;
  int64_t requests_;
  const int32_t* blocks_;
  int64_t columns_;
  const int64_t* slots_;
  int64_t tokens_;
  int64_t queries_ = 0;
  std::vector<Tile> tiles_;
};

}  // namespace kernelet
