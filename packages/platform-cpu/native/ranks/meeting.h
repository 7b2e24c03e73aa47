// Where the ranks of one machine meet: a counter a rank, in memory that their processes share.
#pragma once

#include <atomic>
#include <cstdint>

namespace kernelet {

class Meeting {
 public:
  // Bytes of shared memory for so many ranks; all zero before the first of them comes.
  static int64_t bytes(int size);

  // `memory` is aligned to 64 bytes and outlives the object.
  Meeting(void* memory, int rank, int size);

  // Returns when every rank has called it as often as this one. What a rank wrote before is seen by all after.
  // A rank that waits gives its processor away, and sleeps after a while.
  void meet();

 private:
  struct alignas(64) Place {
    std::atomic<uint32_t> arrivals;  // calls of this rank
    std::atomic<uint32_t> sleepers;  // ranks that sleep until this one comes
  };

  void wait_for(Place& place);

  Place* places_;
  int rank_;
  int size_;
  uint32_t count_ = 0;
};

}  // namespace kernelet
