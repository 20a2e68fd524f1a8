#include "bench/gpt/options.h"

#include <charconv>
#include <limits>
#include <sstream>
#include <variant>

namespace gpt {
namespace {

using Field = std::variant<std::string Options::*, int64_t Options::*, double Options::*>;

struct Row {
  const char* name;
  const char* value;
  const char* help;  // null: not for people
  Field field;
  double least = 0;
  double most = std::numeric_limits<double>::max();
};

const Row kRows[] = {
    {"--device", "NAME", "cpu or cuda (default cpu)", &Options::device},
    {"--preset", "NAME", "char or gpt2, the model's size (default char)", &Options::preset},
    {"--autocast", "KIND", "bf16 or off (default: bf16 for gpt2 on cuda)", &Options::autocast},
    {"--text", "FILE", "text to learn (default: LibTorch's header files)", &Options::text},
    {"--steps", "N", "training steps of each, at least 10 (default 60)", &Options::steps, 10, 1e6},
    {"--threads", "N", "threads (default: LibTorch's choice)", &Options::threads, 0, 1024},
    {"--dropout", "P", "dropout probability, below 1 (default 0)", &Options::dropout, 0, 0.99},
    {"--seed", "N", "seed of weights, batches and dropout (default 7)", &Options::seed, 0, 1e9},
    {"--first-steps-of", "KIND", nullptr, &Options::first_steps_of},
    {"--spawned-at-ns", "T", nullptr, &Options::spawned_at_ns},
};

template <class Number>
Number parse_number(const Row& row, const std::string& text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  // Written so that NaN is refused too.
  if (!whole || !(number >= row.least && number <= row.most)) {
    throw UsageError(std::string(row.name) + " " + text +
                     " is not valid: " + (row.help ? row.help : row.value));
  }
  return number;
}

void set(Options& options, const Row& row, const std::string& text) {
  if (auto* field = std::get_if<std::string Options::*>(&row.field)) {
    options.*(*field) = text;
  } else if (auto* field = std::get_if<int64_t Options::*>(&row.field)) {
    options.*(*field) = parse_number<int64_t>(row, text);
  } else {
    options.*std::get<double Options::*>(row.field) = parse_number<double>(row, text);
  }
}

const Row& find_row(const std::string& name) {
  for (const Row& row : kRows)
    if (name == row.name) return row;
  throw UsageError("unknown argument " + name + "\n" + help_text());
}

}  // namespace

Options parse_options(const std::vector<std::string>& arguments) {
  Options options;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--help" || arguments[i] == "-h") {
      options.help = true;
      continue;
    }
    const Row& row = find_row(arguments[i]);
    if (++i == arguments.size())
      throw UsageError(std::string(row.name) + " needs a value: " + row.value);
    set(options, row, arguments[i]);
  }
  return options;
}

std::vector<std::string> format_options(const Options& options) {
  std::vector<std::string> arguments;
  for (const Row& row : kRows) {
    std::ostringstream value;
    value.precision(std::numeric_limits<double>::max_digits10);
    std::visit([&](auto field) { value << options.*field; }, row.field);
    if (!value.str().empty()) arguments.insert(arguments.end(), {row.name, value.str()});
  }
  return arguments;
}

std::string help_text() {
  std::ostringstream out;
  out << "Trains a GPT, eager and compiled side by side from one seed.\n"
         "usage: bench/demo";
  for (const Row& row : kRows)
    if (row.help) out << " [" << row.name << " " << row.value << "]";
  out << "\n";
  for (const Row& row : kRows) {
    if (!row.help) continue;
    std::string head = std::string("  ") + row.name + " " + row.value;
    head.resize(18, ' ');
    out << head << row.help << "\n";
  }
  return out.str();
}

}  // namespace gpt
