#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

#include "aten_bridge/base/hash_map.h"
#include "aten_bridge/base/str_cat.h"
#include "torchdyn/bytecode/text.h"

namespace torchdyn {
namespace {

using aten_bridge::str_cat;
using Words = std::vector<std::string>;

// What a line may say that is wrong; caught in parse_bytecode.
struct Wrong {
  std::string what;
};

int to_int(const std::string& word) {
  int value = 0;
  if (!absl::SimpleAtoi(word, &value)) throw Wrong{str_cat("'", word, "' is no number")};
  return value;
}

int to_int_or_unknown(const std::string& word) { return word == "?" ? -1 : to_int(word); }

Position parse_position(const std::string& text) {
  const Words ends = absl::StrSplit(text, '-');
  if (ends.size() == 1) return {to_int(text), to_int(text), -1, -1};
  std::vector<int> numbers;
  for (const std::string& end : ends)
    for (absl::string_view word : absl::StrSplit(end, ':'))
      numbers.push_back(to_int_or_unknown(std::string(word)));
  if (numbers.size() != 4) throw Wrong{str_cat("'@", text, "' is no position")};
  return {numbers[0], numbers[2], numbers[1], numbers[3]};
}

class Parser {
 public:
  Bytecode run(std::string_view text) {
    std::vector<Words> lines;
    for (absl::string_view line : absl::StrSplit(aten_bridge::to_absl(text), '\n')) {
      line = line.substr(0, line.find('#'));
      lines.push_back(absl::StrSplit(line, ' ', absl::SkipEmpty()));
    }
    for (const Words& words : lines) {
      ++line_;
      if (!words.empty()) parse_line(words);
    }
    if (!version_) throw Wrong{"no version"};
    resolve();
    return std::move(code_);
  }

  int line() const { return line_; }

 private:
  void parse_line(const Words& words) {
    if (!version_) return parse_head(words);
    if (words[0] == "handler") return parse_handler(words);
    parse_instruction(words);
  }

  void parse_head(const Words& words) {
    if (words.size() == 4 && words[0] == "bytecode" && words[2] == "first_line")
      version_ = version_named(words[1]);
    if (!version_) throw Wrong{"'bytecode VERSION first_line NUMBER' comes first"};
    code_ = Bytecode(*version_, to_int(words[3]));
  }

  void parse_handler(const Words& words) {
    const bool keeps_index = words.size() == 7 && words[6] == "index";
    if ((words.size() != 6 && !keeps_index) || words[2] != "->" || words[4] != "depth")
      throw Wrong{"'handler NAME -> LABEL depth NUMBER [index]' is expected"};
    code_.handlers.push_back({nullptr, to_int(words[5]), keeps_index});
    handlers_[words[1]] = &code_.handlers.back();
    handler_targets_.push_back(words[3]);
  }

  void parse_instruction(const Words& words) {
    size_t next = 0;
    std::string label;
    if (words[0].back() == ':') label = words[next++].substr(0, words[0].size() - 1);
    const auto op = next < words.size() ? opcode_named(words[next]) : std::nullopt;
    if (!op) throw Wrong{"a line names no opcode"};
    Instruction& added = code_.instructions.emplace_back(Instruction{.op = *op});
    if (!label.empty()) labels_[label] = &added;
    while (++next < words.size()) parse_detail(words[next], &added);
    if (is_jump(*op) && (jumps_.empty() || jumps_.back().first != &added))
      throw Wrong{"a jump without a target"};
  }

  void parse_detail(const std::string& word, Instruction* added) {
    if (word[0] == '@') {
      added->position = parse_position(word.substr(1));
    } else if (word[0] == '!') {
      const auto handler = handlers_.find(word.substr(1));
      if (handler == handlers_.end()) throw Wrong{str_cat("no handler is ", word)};
      added->handler = handler->second;
    } else if (word[0] == '+') {
      added->least_prefixes = static_cast<uint8_t>(to_int(word.substr(1)));
    } else if (is_jump(added->op)) {
      jumps_.emplace_back(added, word);
    } else if (!absl::SimpleAtoi(word, &added->arg)) {
      throw Wrong{str_cat("'", word, "' is no argument")};
    }
  }

  Instruction* labelled(const std::string& label) const {
    const auto found = labels_.find(label);
    if (found == labels_.end()) throw Wrong{str_cat("no instruction is labelled ", label)};
    return found->second;
  }

  void resolve() {
    for (auto& [jump, label] : jumps_) jump->target = labelled(label);
    auto label = handler_targets_.begin();
    for (ExceptionHandler& handler : code_.handlers) handler.target = labelled(*label++);
  }

  int line_ = 0;
  std::optional<PythonVersion> version_;
  Bytecode code_{PythonVersion::k3_11, 0};
  aten_bridge::HashMap<std::string, Instruction*> labels_;
  aten_bridge::HashMap<std::string, const ExceptionHandler*> handlers_;
  std::vector<std::string> handler_targets_;  // in the order of the handlers
  std::vector<std::pair<Instruction*, std::string>> jumps_;
};

}  // namespace

absl::StatusOr<Bytecode> parse_bytecode(std::string_view text) {
  Parser parser;
  try {
    return parser.run(text);
  } catch (const Wrong& wrong) {
    return absl::InvalidArgumentError(str_cat("line ", parser.line(), ": ", wrong.what));
  }
}

}  // namespace torchdyn
