// Arrays as compiled kernels see them: bytes in memory.
//   GuardedMemory a(bytes_of(array));  GuardedMemory b(storage_bytes(type));   // b: all bits set
//   kernel(a.data(), b.data());
//   b.check();                                     // nothing was written around it
//   Array result = gather(b.data(), output, dtype);
#pragma once

#include <vector>

#include "inductor/ir/loop.h"
#include "tests/inductor/support/evaluate.h"

namespace inductor::testing {

// Aligned to 64 bytes. What no one has written yet reads as NaN, -1 or 255.
class GuardedMemory {
 public:
  explicit GuardedMemory(size_t size);
  explicit GuardedMemory(const std::vector<unsigned char>& bytes);
  GuardedMemory(GuardedMemory&&) = default;
  GuardedMemory& operator=(GuardedMemory&&) = default;

  unsigned char* data() const { return data_; }
  void check() const;

 private:
  size_t size_;
  std::vector<unsigned char> bytes_;
  unsigned char* data_;
};

std::vector<unsigned char> bytes_of(const Array& array);
size_t storage_bytes(const TensorType& type);

// What an output refers to, row-major.
Array gather(const unsigned char* memory, const TensorRef& output, DType dtype);

}  // namespace inductor::testing
