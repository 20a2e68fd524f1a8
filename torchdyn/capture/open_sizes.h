// Which sizes and numbers of a function's inputs are left open when it is captured: symbols.
//   OpenSizes open(OpenSizes::Policy::kAutomatic);
//   open.dimensions(gil, x, "x")      // none; {0} where a capture before has seen another size
//   open.saw(x, "x");                 // the capture is done
//
// A place is a text, where what is found at different calls is the same thing of the program: of
// what a module holds, that of this module. torch._dynamo's marks on tensors count, too. 0 and 1
// are never open.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "aten_bridge/base/hash_map.h"
#include "torchdyn/cpython/py_ref.h"

namespace torchdyn {

class OpenSizes {
 public:
  enum class Policy : uint8_t {
    kAutomatic,  // what is marked, and what was another in an earlier capture
    kAll,
    kMarked,
    kNone,
  };

  explicit OpenSizes(Policy policy) : policy_(policy) {}

  std::vector<int> dimensions(const Gil&, PyBorrow tensor, const std::string& place) const;
  bool is_open(int64_t number, const std::string& place, bool is_argument) const;

  void saw(PyBorrow tensor, const std::string& place);
  void saw(int64_t number, const std::string& place);
  // From now on nothing is open: what was captured with symbols cannot be guarded.
  void close() { is_closed_ = true; }

 private:
  struct Seen {
    std::vector<int64_t> sizes;  // of the first capture
    std::vector<bool> is_open;   // another one since
  };

  void saw(std::vector<int64_t> sizes, const std::string& place);
  bool was_another(const std::string& place, size_t dimension, size_t count, int64_t size) const;

  Policy policy_;
  bool is_closed_ = false;
  aten_bridge::HashMap<std::string, Seen> seen_;
};

}  // namespace torchdyn
