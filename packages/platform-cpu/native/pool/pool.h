// The threads of a step. Tasks are claimed one at a time, so a thread that lost its core delays only the task it holds.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

namespace kernelet {

class Pool {
 public:
  // `threads` counts the caller; `cpus` pins thread i to cpus[i] (the caller too, when it first runs something), empty: none is pinned.
  explicit Pool(int threads, std::vector<int> cpus = {});
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  // Calls fn(task) for each task of [0, tasks) and returns when all are done. What a task computes must not depend on
  // the thread. A caller that finds the pool taken by another thread does its tasks itself. `fn` must not throw.
  template <class F>
  void run(int64_t tasks, F&& fn) {
    using Function = std::remove_reference_t<F>;
    run_erased(tasks, [](void* context, int64_t task) { (*static_cast<Function*>(context))(task); },
               const_cast<void*>(static_cast<const void*>(&fn)));
  }

 private:
  using Call = void (*)(void*, int64_t);

  void run_erased(int64_t tasks, Call call, void* context);
  void work();
  bool claim(uint32_t epoch);
  void wait_for(uint32_t& seen);

  std::mutex owner_;
  // High half: number of the job; low half: tasks that nobody claimed yet. One word, so that a claim of a job that is over fails.
  alignas(64) std::atomic<uint64_t> ticket_{0};
  alignas(64) std::atomic<int64_t> unfinished_{0};
  alignas(64) std::atomic<uint32_t> epoch_{0};
  std::atomic<int> sleeping_{0};
  std::atomic<bool> stop_{false};
  // Written while ticket_ has no task; read after a claim, which keeps the job alive.
  Call call_ = nullptr;
  void* context_ = nullptr;
  int64_t tasks_ = 0;
  std::vector<std::thread> workers_;
  std::vector<int> cpus_;
};

// The pool that kernels use. One thread until `start_pool`.
Pool& pool();
void start_pool(int threads, std::vector<int> cpus);

}  // namespace kernelet
