#include "pool/pool.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <new>

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

// This thread holds a task, or waits for those it shared out: what it would share out now, it does itself.
thread_local bool sharing = false;

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

Pool::~Pool() { stop(); }

void Pool::start(int threads, const std::vector<int>& cpus) {
  const std::lock_guard<std::mutex> lock(owner_);
  stop();
  for (int i = 1; i < threads; ++i)
    workers_.emplace_back([this, cpu = cpus.empty() ? -1 : cpus[static_cast<size_t>(i) % cpus.size()]] {
      if (cpu >= 0) pin(cpu);
      work();
    });
  threads_ = std::max(1, threads);
}

void Pool::stop() {
  stop_ = true;
  ++epoch_;
  epoch_.notify_all();
  for (auto& worker : workers_) worker.join();
  workers_.clear();
  stop_ = false;
  threads_ = 1;
}

bool Pool::claim(uint32_t job) {
  uint64_t ticket = ticket_.load(std::memory_order_acquire);
  while (true) {
    const auto left = static_cast<uint32_t>(ticket);
    if (static_cast<uint32_t>(ticket >> 32) != job || left == 0) return false;
    if (!ticket_.compare_exchange_weak(ticket, ticket - 1, std::memory_order_acq_rel)) continue;
    call_(context_, tasks_ - left);
    if (unfinished_.fetch_sub(1) == 1 && caller_sleeps_) unfinished_.notify_one();
    return true;
  }
}

uint32_t Pool::next_job(uint32_t seen) {
  const auto changed = [&] { return epoch_.load(std::memory_order_acquire) != seen; };
  if (!spin(changed)) {
    ++sleeping_;
    epoch_.wait(seen);
    --sleeping_;
  }
  return epoch_.load(std::memory_order_acquire);
}

void Pool::work() {
  sharing = true;
  uint32_t job = epoch_.load(std::memory_order_acquire);
  while (!stop_) {
    while (claim(job)) {
    }
    job = next_job(job);
  }
}

void Pool::wait_until_finished() {
  if (spin([&] { return unfinished_.load(std::memory_order_acquire) == 0; })) return;
  // Another process has the core of a thread that holds a task: asleep, this one makes room for it.
  caller_sleeps_ = true;
  for (uint32_t left = unfinished_; left != 0; left = unfinished_) unfinished_.wait(left);
  caller_sleeps_ = false;
}

void Pool::share(int64_t tasks, Call call, void* context) {
  const uint32_t job = epoch_.load(std::memory_order_relaxed) + 1;
  call_ = call;
  context_ = context;
  tasks_ = tasks;
  unfinished_.store(static_cast<uint32_t>(tasks), std::memory_order_relaxed);
  ticket_.store(static_cast<uint64_t>(job) << 32 | static_cast<uint32_t>(tasks), std::memory_order_release);
  epoch_.store(job);
  if (sleeping_ > 0) epoch_.notify_all();
  while (claim(job)) {
  }
  wait_until_finished();
}

void Pool::run_erased(int64_t tasks, Call call, void* context) {
  if (tasks > 1 && tasks <= UINT32_MAX && threads() > 1 && !sharing) {
    const std::unique_lock<std::mutex> lock(owner_, std::try_to_lock);
    if (lock.owns_lock() && !workers_.empty()) {
      sharing = true;
      share(tasks, call, context);
      sharing = false;
      return;
    }
  }
  for (int64_t task = 0; task < tasks; ++task) call(context, task);
}

void Pool::forget() {
  // Its threads cannot be joined here and its lock may be held for ever: what there was is left, not destroyed.
  new (this) Pool();
}

Pool& pool() {
  // never destroyed: a process that ends must not wait for threads that wait
  static Pool* const shared = [] {
    auto* made = new Pool();
    pthread_atfork(nullptr, nullptr, [] { pool().forget(); });
    return made;
  }();
  return *shared;
}

}  // namespace kernelet
