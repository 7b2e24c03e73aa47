#include "pool/pool.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <chrono>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace kernelet {
namespace {

// A waiting thread looks for this long before it sleeps: longer than the gap between two operations of a step, shorter
// than what another process notices.
constexpr auto kSpin = std::chrono::microseconds(50);
constexpr int kLooks = 64;  // between two readings of the clock

inline void relax() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

void pin(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);  // a processor that went away is no reason to stop
}

// Looks until `done` or the time is over; whether it was done.
template <class Done>
bool spin(Done done) {
  const auto until = std::chrono::steady_clock::now() + kSpin;
  do {
    for (int look = 0; look < kLooks; ++look) {
      if (done()) return true;
      relax();
    }
  } while (std::chrono::steady_clock::now() < until);
  return done();
}

}  // namespace

Pool::Pool(int threads, std::vector<int> cpus) : cpus_(std::move(cpus)) {
  for (int i = 1; i < threads; ++i)
    workers_.emplace_back([this, i] {
      if (!cpus_.empty()) pin(cpus_[static_cast<size_t>(i) % cpus_.size()]);
      work();
    });
}

Pool::~Pool() {
  stop_ = true;
  ++epoch_;
  epoch_.notify_all();
  for (auto& worker : workers_) worker.join();
}

bool Pool::claim(uint32_t epoch) {
  uint64_t ticket = ticket_.load(std::memory_order_acquire);
  while (true) {
    const auto left = static_cast<uint32_t>(ticket);
    if (static_cast<uint32_t>(ticket >> 32) != epoch || left == 0) return false;
    if (ticket_.compare_exchange_weak(ticket, ticket - 1, std::memory_order_acq_rel)) {
      call_(context_, tasks_ - left);
      unfinished_.fetch_sub(1, std::memory_order_release);
      return true;
    }
  }
}

void Pool::wait_for(uint32_t& seen) {
  const auto changed = [&] { return epoch_.load(std::memory_order_acquire) != seen; };
  if (!spin(changed)) {
    ++sleeping_;
    epoch_.wait(seen);
    --sleeping_;
  }
  seen = epoch_.load(std::memory_order_acquire);
}

void Pool::work() {
  uint32_t seen = 0;
  while (true) {
    wait_for(seen);
    if (stop_) return;
    while (claim(seen)) {
    }
  }
}

void Pool::run_erased(int64_t tasks, Call call, void* context) {
  std::unique_lock<std::mutex> lock(owner_, std::defer_lock);
  if (tasks <= 1 || workers_.empty() || tasks > UINT32_MAX || !lock.try_lock()) {
    for (int64_t task = 0; task < tasks; ++task) call(context, task);
    return;
  }
  const uint32_t job = epoch_.load(std::memory_order_relaxed) + 1;
  call_ = call;
  context_ = context;
  tasks_ = tasks;
  unfinished_.store(tasks, std::memory_order_relaxed);
  ticket_.store(static_cast<uint64_t>(job) << 32 | static_cast<uint32_t>(tasks), std::memory_order_release);
  epoch_.store(job);
  if (sleeping_.load() > 0) epoch_.notify_all();
  while (claim(job)) {
  }
  const auto finished = [&] { return unfinished_.load(std::memory_order_acquire) == 0; };
  while (!spin(finished)) sched_yield();
}

namespace {
std::unique_ptr<Pool>& shared() {
  // never destroyed: a process that ends must not wait for threads that wait
  static auto* pool = new std::unique_ptr<Pool>(new Pool(1));
  return *pool;
}
}  // namespace

Pool& pool() { return *shared(); }

void start_pool(int threads, std::vector<int> cpus) {
  if (!cpus.empty()) pin(cpus.front());
  shared() = std::make_unique<Pool>(std::max(1, threads), std::move(cpus));
}

}  // namespace kernelet
