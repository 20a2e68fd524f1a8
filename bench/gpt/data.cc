#include "bench/gpt/data.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <ATen/ops/empty.h>

namespace gpt {
namespace {

namespace fs = std::filesystem;

void append_file(const fs::path& path, size_t limit, std::string& text) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw TextError("cannot read the text file " + path.string());
  const size_t begin = text.size();
  text.resize(limit);
  file.read(text.data() + begin, static_cast<std::streamsize>(limit - begin));
  text.resize(begin + static_cast<size_t>(file.gcount()));
}

std::vector<fs::path> header_files(const fs::path& folder) {
  std::vector<fs::path> paths;
  constexpr auto kOptions = fs::directory_options::skip_permission_denied;
  for (const auto& entry : fs::recursive_directory_iterator(folder, kOptions))
    if (entry.path().extension() == ".h") paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

// Runs of letters; every other character alone.
template <class F>
void for_each_word(std::string_view text, F f) {
  const auto is_letter = [](char c) { return (c | 32) >= 'a' && (c | 32) <= 'z'; };
  for (size_t begin = 0, end = 0; begin < text.size(); begin = end) {
    end = begin + 1;
    if (is_letter(text[begin]))
      while (end < text.size() && is_letter(text[end])) ++end;
    f(text.substr(begin, end - begin));
  }
}

std::vector<std::string> most_frequent_words(std::string_view text, size_t count) {
  std::unordered_map<std::string_view, int64_t> counts;
  for_each_word(text, [&](std::string_view word) {
    if (word.size() > 1) ++counts[word];
  });
  std::vector<std::pair<int64_t, std::string_view>> order;
  for (const auto& [word, times] : counts) order.emplace_back(-times, word);
  std::sort(order.begin(), order.end());
  if (order.size() > count) order.resize(count);
  std::vector<std::string> words;
  for (const auto& [times, word] : order) words.emplace_back(word);
  return words;
}

}  // namespace

std::string read_text(const std::string& path, size_t limit) {
  std::string text;
  if (!fs::is_directory(path)) {
    if (!fs::exists(path)) throw TextError("there is no text file " + path);
    append_file(path, limit, text);
    return text;
  }
  for (const fs::path& header : header_files(path)) {
    if (text.size() == limit) break;
    append_file(header, limit, text);
  }
  return text;
}

Corpus::Corpus(const std::string& text, int64_t vocabulary) {
  const std::set<char> occurring(text.begin(), text.end());
  for (char c : occurring) pieces_.emplace_back(1, c);
  const auto words = static_cast<int64_t>(pieces_.size()) < vocabulary
                         ? most_frequent_words(text, vocabulary - pieces_.size())
                         : std::vector<std::string>();
  pieces_.insert(pieces_.end(), words.begin(), words.end());
  std::unordered_map<std::string_view, int32_t> token_of;
  for (const std::string& piece : pieces_)
    token_of.emplace(piece, static_cast<int32_t>(token_of.size()));
  for_each_word(text, [&](std::string_view word) {
    if (const auto known = token_of.find(word); known != token_of.end()) {
      tokens_.push_back(known->second);
      return;
    }
    for (size_t i = 0; i < word.size(); ++i) tokens_.push_back(token_of.at(word.substr(i, 1)));
  });
}

void Corpus::check_long_enough(int64_t context) const {
  if (size() <= context) {
    throw TextError("the text is too short: it has " + std::to_string(size()) +
                    " tokens, training needs at least " + std::to_string(context + 1));
  }
}

Batch Corpus::batch(int64_t seed, int64_t rows, int64_t context) const {
  check_long_enough(context);
  std::mt19937_64 random(static_cast<uint64_t>(seed));
  Batch batch{at::empty({rows, context}, at::kLong), at::empty({rows, context}, at::kLong)};
  for (int64_t row = 0; row < rows; ++row) {
    const auto begin =
        tokens_.begin() + static_cast<int64_t>(random() % static_cast<uint64_t>(size() - context));
    std::copy_n(begin, context, batch.inputs.data_ptr<int64_t>() + row * context);
    std::copy_n(begin + 1, context, batch.targets.data_ptr<int64_t>() + row * context);
  }
  return batch;
}

std::string Corpus::decode(const at::Tensor& tokens) const {
  std::string text;
  const at::Tensor flat = tokens.cpu().contiguous();
  for (int64_t i = 0; i < flat.numel(); ++i)
    text += pieces_.at(static_cast<size_t>(flat.data_ptr<int64_t>()[i]));
  return text;
}

}  // namespace gpt
