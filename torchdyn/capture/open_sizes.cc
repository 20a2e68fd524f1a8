#include "torchdyn/capture/open_sizes.h"

#include <optional>

#include "torchdyn/cpython/objects.h"
#include "torchdyn/cpython/tensor_abi.h"

namespace torchdyn {
namespace {

constexpr int64_t kLeastSize = 2;  // 0 and 1 mean another program

struct Marks {
  PyRef open, fixed;  // sets of dimensions
};

Marks marks_of(const Gil& gil, PyBorrow tensor) {
  const PyRef both = call(gil, import_attribute(gil, "torchdyn.symbols", "marks"),
                          tuple_of_borrowed({&tensor, 1}));
  return {PyRef::to(PyBorrow(PyTuple_GET_ITEM(both.get(), 0))),
          PyRef::to(PyBorrow(PyTuple_GET_ITEM(both.get(), 1)))};
}

bool contains(const PyRef& set, size_t dimension) {
  const PyRef number = owned(PyLong_FromSize_t(dimension));
  return PySet_Contains(set.get(), number.get()) == 1;
}

}  // namespace

std::vector<int> OpenSizes::dimensions(const Gil& gil, PyBorrow tensor,
                                       const std::string& place) const {
  std::vector<int> open;
  if (is_closed_ || policy_ == Policy::kNone) return open;
  const std::span<const int64_t> sizes = geometry_of(tensor).sizes;
  std::optional<Marks> marks;
  if (has_attributes(tensor)) marks = marks_of(gil, tensor);
  for (size_t d = 0; d < sizes.size(); ++d) {
    const bool is_marked = marks && contains(marks->open, d);
    const bool is_fixed = sizes[d] < kLeastSize || (marks && contains(marks->fixed, d));
    const bool is_wanted =
        policy_ == Policy::kAll ||
        (policy_ == Policy::kAutomatic && was_another(place, d, sizes.size(), sizes[d]));
    if (!is_fixed && (is_marked || is_wanted)) open.push_back(static_cast<int>(d));
  }
  return open;
}

bool OpenSizes::is_open(int64_t number, const std::string& place, bool is_argument) const {
  if (is_closed_ || number < kLeastSize) return false;
  if (policy_ == Policy::kAll) return is_argument;
  return policy_ == Policy::kAutomatic && was_another(place, 0, 1, number);
}

bool OpenSizes::was_another(const std::string& place, size_t dimension, size_t count,
                            int64_t size) const {
  const auto found = seen_.find(place);
  if (found == seen_.end() || found->second.sizes.size() != count) return false;
  return found->second.is_open[dimension] || found->second.sizes[dimension] != size;
}

void OpenSizes::saw(PyBorrow tensor, const std::string& place) {
  const std::span<const int64_t> sizes = geometry_of(tensor).sizes;
  saw(std::vector<int64_t>(sizes.begin(), sizes.end()), place);
}

void OpenSizes::saw(int64_t number, const std::string& place) {
  saw(std::vector<int64_t>{number}, place);
}

void OpenSizes::saw(std::vector<int64_t> sizes, const std::string& place) {
  const auto [found, is_new] = seen_.try_emplace(place);
  Seen& seen = found->second;
  if (is_new || seen.sizes.size() != sizes.size()) {
    seen.is_open.assign(sizes.size(), false);
    seen.sizes = std::move(sizes);
    return;
  }
  for (size_t d = 0; d < sizes.size(); ++d)
    if (seen.sizes[d] != sizes[d]) seen.is_open[d] = true;
}

}  // namespace torchdyn
