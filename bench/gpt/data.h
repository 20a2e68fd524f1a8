// Text as batches of characters.
//   Corpus corpus(read_text(path));
//   auto [inputs, targets] = corpus.batch(/*seed=*/step, /*rows=*/8, /*context=*/128);   // i64 [8,
//   128] each std::string text = corpus.decode(tokens);
#pragma once

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace gpt {

// The text cannot be had, or is too short to train on.
class TextError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A file's text, or that of the first header files (*.h, sorted by path) below a folder; at most
// `limit` bytes.
std::string read_text(const std::string& path, size_t limit = 4'000'000);

struct Batch {
  at::Tensor inputs, targets;  // targets are the inputs one character later
};

class Corpus {
 public:
  explicit Corpus(const std::string& text);

  int64_t size() const { return static_cast<int64_t>(tokens_.size()); }
  int64_t vocabulary() const {
    return static_cast<int64_t>(characters_.size());
  }  // characters that occur

  // Throws TextError when no piece of `context` characters and its successor exists.
  void check_long_enough(int64_t context) const;
  // Pieces at random places; the same arguments give the same batch.
  Batch batch(int64_t seed, int64_t rows, int64_t context) const;

  std::string decode(const at::Tensor& tokens) const;

 private:
  std::string characters_;
  std::vector<uint8_t> tokens_;
};

}  // namespace gpt
