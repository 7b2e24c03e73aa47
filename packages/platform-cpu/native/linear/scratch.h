// Memory of a call that is kept for the next one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace kernelet {

class Scratch {
 public:
  // At least `bytes`, aligned to a cache line; what was there before is lost.
  void* take(int64_t bytes) {
    if (bytes > size_) {
      memory_.reset();
      memory_.reset(::operator new(static_cast<size_t>(bytes), kLine));
      size_ = bytes;
    }
    return memory_.get();
  }

 private:
  static constexpr std::align_val_t kLine{64};
  struct Free {
    void operator()(void* memory) const { ::operator delete(memory, kLine); }
  };
  std::unique_ptr<void, Free> memory_;
  int64_t size_ = 0;
};

}  // namespace kernelet
