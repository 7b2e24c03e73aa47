// Memory that is taken once and grows, for what a step computes on the way.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <new>

namespace kernelet {

class Buffer {
 public:
  Buffer() = default;
  ~Buffer() { std::free(data_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  // At least that many bytes, at a multiple of 64; what was in it is lost when it grows.
  void* reserve(int64_t bytes) {
    if (bytes > size_) {
      std::free(data_);
      size_ = (bytes + 63) / 64 * 64;
      data_ = std::aligned_alloc(64, static_cast<size_t>(size_));
      if (!data_) {
        size_ = 0;
        throw std::bad_alloc();
      }
    }
    return data_;
  }

 private:
  void* data_ = nullptr;
  int64_t size_ = 0;
};

}  // namespace kernelet
