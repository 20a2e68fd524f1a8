// Sets a variable of the environment and puts back what was there.
//   Variable arch("TORCHDYN_CUDA_ARCH", "sm_90");
#pragma once

#include <cstdlib>
#include <optional>
#include <string>

namespace inductor {

class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    setenv(name, value.c_str(), 1);
  }
  ~Variable() { old_ ? setenv(name_, old_->c_str(), 1) : unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> old_;
};

}  // namespace inductor
