#include "torchdyn/package/optimizer_text.h"

#include <sstream>

#include "absl/strings/numbers.h"

#include "aten_bridge/base/str_cat.h"
#include "torchdyn/package.h"

namespace torchdyn {

using aten_bridge::str_cat;

OptimizerText::OptimizerText(std::string text) : text_(std::move(text)) {
  std::istringstream words(text_);
  std::string word;
  words >> name_;
  while (words >> word) {
    const size_t equals = word.find('=');
    double value = 0;
    if (equals == word.npos || !absl::SimpleAtod(word.substr(equals + 1), &value))
      throw PackageError(str_cat("optimizer '", text_, "': ", word, " is no setting"));
    settings_[word.substr(0, equals)] = value;
  }
}

double OptimizerText::take(const std::string& setting, double otherwise) {
  const auto found = settings_.find(setting);
  if (found == settings_.end()) return otherwise;
  const double value = found->second;
  settings_.erase(found);
  return value;
}

void OptimizerText::finish() const {
  if (settings_.empty()) return;
  throw PackageError(
      str_cat("optimizer '", text_, "': ", name_, " has no setting ", settings_.begin()->first));
}

void OptimizerText::refuse_name() const {
  throw PackageError(str_cat("optimizer '", text_, "': known are sgd and adamw"));
}

}  // namespace torchdyn
