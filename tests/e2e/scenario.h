// Programs that are run twice, with functions as they are and with functions compiled, and must see
// the same.
//   scenario("AnInputIsChanged", [](auto compile) {
//     auto f = compile([](Tensor x) { return x.mul_(2); });
//     Tensor x = normal({3});
//     return Tensors{f(x), x};                      // what it saw
//   });
#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/e2e/test_device.h"
#include "torchdyn/compile.h"

namespace torchdyn {

using torch::Tensor;
using Tensors = std::vector<Tensor>;
namespace nn = torch::nn;

struct Eager {
  template <class F>
  F operator()(F f, const Options& = {}) const {
    return f;
  }
};

// Keeps an eye on what it compiled.
class Doors {
 public:
  template <class F>
  auto operator()(F f, Options options = {}) const {
    auto compiled = compile(std::move(f), std::move(options));
    explanations_->push_back([compiled] { return explain(compiled); });
    return compiled;
  }
  std::vector<Explanation> explanations() const {
    std::vector<Explanation> all;
    for (const auto& get : *explanations_) all.push_back(get());
    return all;
  }

 private:
  std::shared_ptr<std::vector<std::function<Explanation()>>> explanations_ =
      std::make_shared<std::vector<std::function<Explanation()>>>();
};

struct Scenario {
  std::string name;
  std::function<Tensors()> eager;
  std::function<Tensors(const Doors&)> compiled;
  std::string eager_reason = {};  // part of why a call runs in eager; empty: none does
};

inline std::ostream& operator<<(std::ostream& out, const Scenario& scenario) {
  return out << scenario.name;
}

// `body` takes what compiles and returns what it saw.
template <class Body>
Scenario scenario(std::string name, Body body) {
  return {std::move(name), [body] { return body(Eager()); },
          [body](const Doors& doors) { return body(doors); }};
}

inline Tensor flag(bool value) { return torch::full({}, value, torch::kBool); }
inline Tensor share_memory(const Tensor& a, const Tensor& b) { return flag(a.is_alias_of(b)); }

inline Tensor normal(at::IntArrayRef sizes) { return torch::randn(sizes).to(test_device()); }
inline Tensor leaf(at::IntArrayRef sizes) { return normal(sizes).requires_grad_(); }

// A name of the exception that a call ends with; empty for none.
template <class Call>
Tensor raises(Call call) {
  try {
    call();
  } catch (const c10::IndexError&) {
    return torch::full({}, 2);
  } catch (const std::exception&) {
    return torch::full({}, 1);
  }
  return torch::full({}, 0);
}

// Values, dtypes, sizes, strides, requires_grad and leafness of all that was seen, and that nothing
// ran in eager but for the scenario's reason.
void expect_the_same_seen(const Scenario& scenario);

}  // namespace torchdyn
