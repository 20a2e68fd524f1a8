#include "bench/gpt/data.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>

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

Corpus::Corpus(const std::string& text) {
  const std::set<unsigned char> occurring(text.begin(), text.end());
  characters_.assign(occurring.begin(), occurring.end());
  std::array<uint8_t, 256> token_of{};
  for (size_t i = 0; i < characters_.size(); ++i)
    token_of[static_cast<unsigned char>(characters_[i])] = static_cast<uint8_t>(i);
  tokens_.reserve(text.size());
  for (unsigned char c : text) tokens_.push_back(token_of[c]);
}

void Corpus::check_long_enough(int64_t context) const {
  if (size() <= context) {
    throw TextError("the text is too short: it has " + std::to_string(size()) +
                    " characters, training needs at least " + std::to_string(context + 1));
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
  const at::Tensor flat = tokens.contiguous();
  for (int64_t i = 0; i < flat.numel(); ++i)
    text += characters_.at(static_cast<size_t>(flat.data_ptr<int64_t>()[i]));
  return text;
}

}  // namespace gpt
