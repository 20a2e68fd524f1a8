// Text as batches of tokens: characters and, where a larger vocabulary is wanted, words.
//   Corpus corpus(read_text(path));
//   auto [inputs, targets] = corpus.batch(/*seed=*/step, /*rows=*/8, /*context=*/128);
//   std::string text = corpus.decode(tokens);     // inputs, targets: i64 [8, 128]
#pragma once

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
  at::Tensor inputs, targets;  // targets are the inputs one token later
};

class Corpus {
 public:
  // Tokens are the characters that occur and, up to `vocabulary` tokens in all, the words (runs of
  // letters) that occur most often.
  explicit Corpus(const std::string& text, int64_t vocabulary = 0);

  int64_t size() const { return static_cast<int64_t>(tokens_.size()); }
  int64_t vocabulary() const { return static_cast<int64_t>(pieces_.size()); }  // different tokens

  // Throws TextError when no piece of `context` tokens and its successor exists.
  void check_long_enough(int64_t context) const;
  // Pieces at random places; the same arguments give the same batch.
  Batch batch(int64_t seed, int64_t rows, int64_t context) const;

  std::string decode(const at::Tensor& tokens) const;

 private:
  std::vector<std::string> pieces_;  // by token
  std::vector<int32_t> tokens_;
};

}  // namespace gpt
