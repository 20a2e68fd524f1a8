// An optimizer and its settings as text: "adamw lr=0.001 weight_decay=0.1".
//   OptimizerText text("sgd lr=0.1 momentum=0.9");
//   double rate = text.take("lr", 1e-3);      // what is left over in the end is no setting of
//   sgd's text.finish();
#pragma once

#include <map>
#include <string>

namespace torchdyn {

class OptimizerText {
 public:
  // PackageError for a word that is no setting.
  explicit OptimizerText(std::string text);

  const std::string& text() const { return text_; }
  const std::string& name() const { return name_; }
  // Takes a setting out, or gives the default.
  double take(const std::string& setting, double otherwise);
  // PackageError where a setting was not taken.
  void finish() const;
  // PackageError: no optimizer of that name.
  [[noreturn]] void refuse_name() const;

 private:
  std::string text_, name_;
  std::map<std::string, double> settings_;
};

}  // namespace torchdyn
