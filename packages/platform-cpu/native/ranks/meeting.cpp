#include "ranks/meeting.h"

#include <sched.h>
#include <time.h>

#include <climits>
#ifdef __linux__
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace kernelet {

namespace {

static_assert(std::atomic<uint32_t>::is_always_lock_free);

constexpr int LOOKS = 100;   // on the own processor: another rank is about to come
constexpr int YIELDS = 200;  // then others may have the processor, maybe that very rank

// std::atomic::wait knows threads of one process only.
void sleep_while(std::atomic<uint32_t>& word, uint32_t value) {
#ifdef __linux__
  const timespec second{1, 0};
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAIT, value, &second, nullptr, 0);
#else
  if (word.load(std::memory_order_acquire) != value) return;
  const timespec moment{0, 50'000};
  nanosleep(&moment, nullptr);
#endif
}

void wake_all(std::atomic<uint32_t>& word) {
#ifdef __linux__
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
#else
  (void)word;
#endif
}

}  // namespace

int64_t Meeting::bytes(int size) { return size * static_cast<int64_t>(sizeof(Place)); }

Meeting::Meeting(void* memory, int rank, int size) : places_(static_cast<Place*>(memory)), rank_(rank), size_(size) {}

void Meeting::meet() {
  Place& mine = places_[rank_];
  mine.arrivals.store(++count_);  // before sleepers is read: who counts itself in later sees it
  if (mine.sleepers.load() > 0) wake_all(mine.arrivals);
  for (int rank = 0; rank < size_; ++rank)
    if (rank != rank_) wait_for(places_[rank]);
}

void Meeting::wait_for(Place& place) {
  // Nobody is more than one call ahead, so the difference tells even when counters begin anew.
  const auto came = [&](uint32_t arrivals) { return static_cast<int32_t>(arrivals - count_) >= 0; };
  for (int look = 0; look < LOOKS + YIELDS; ++look) {
    if (came(place.arrivals.load(std::memory_order_acquire))) return;
    if (look >= LOOKS) sched_yield();
  }
  ++place.sleepers;
  for (uint32_t arrivals = place.arrivals; !came(arrivals); arrivals = place.arrivals)
    sleep_while(place.arrivals, arrivals);
  --place.sleepers;
}

}  // namespace kernelet
