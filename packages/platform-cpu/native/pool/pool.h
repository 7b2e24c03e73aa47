// The threads of a step. Tasks are claimed one at a time, so a thread that lost its core delays only the task it holds.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

namespace kernelet {

class Pool {
 public:
  Pool() = default;
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // Replaces the threads; waits for a run of another caller to end. `threads` counts the caller. `cpus` pins thread i to
  // cpus[i], empty: none is pinned. The caller itself never is: what it starts later would inherit that.
  void start(int threads, const std::vector<int>& cpus);

  int threads() const { return threads_.load(std::memory_order_relaxed); }

  // Calls fn(task) for each task of [0, tasks) and returns when all are done. What a task computes must not depend on
  // the thread. A caller that finds the pool taken, or is inside a task, does its tasks itself. `fn` must not throw.
  template <class F>
  void run(int64_t tasks, F&& fn) {
    using Function = std::remove_reference_t<F>;
    run_erased(tasks, [](void* context, int64_t task) { (*static_cast<Function*>(context))(task); },
               const_cast<void*>(static_cast<const void*>(&fn)));
  }

  // In the child of a fork: threads stayed with the parent, so there are none until `start`.
  void forget();

 private:
  using Call = void (*)(void*, int64_t);

  void run_erased(int64_t tasks, Call call, void* context);
  void share(int64_t tasks, Call call, void* context);
  void work();
  void stop();
  bool claim(uint32_t job);
  uint32_t next_job(uint32_t seen);
  void wait_until_finished();

  std::mutex owner_;  // held by the caller whose run it is
  std::atomic<int> threads_{1};
  // High half: number of the job; low half: tasks that nobody claimed yet. One word, so that a claim of a job that is over fails.
  alignas(64) std::atomic<uint64_t> ticket_{0};
  alignas(64) std::atomic<uint32_t> unfinished_{0};
  std::atomic<bool> caller_sleeps_{false};
  alignas(64) std::atomic<uint32_t> epoch_{0};
  std::atomic<int> sleeping_{0};
  std::atomic<bool> stop_{false};
  // Written while ticket_ has no task; read after a claim, which keeps the job alive.
  Call call_ = nullptr;
  void* context_ = nullptr;
  int64_t tasks_ = 0;
  std::vector<std::thread> workers_;
};

// The pool that kernels use. One thread until it is started, and again after a fork.
Pool& pool();

}  // namespace kernelet
