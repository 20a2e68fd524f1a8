// TD_CHECK: "we are wrong". Throws InternalError; the doors turn it into an eager call with a
// repro.
//   TD_CHECK(users.empty(), "erasing ", node.op, ", still used by ", users.front()->op);
#pragma once

#include <stdexcept>

#include "aten_bridge/base/str_cat.h"

namespace aten_bridge {

// A broken invariant of this library, never the user's fault. Caught at the doors only.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

namespace internal {
template <class... Parts>
[[noreturn]] void check_failed(const char* file, int line, const char* condition,
                               const Parts&... parts) {
  throw InternalError(str_cat(file, ":", line, ": ", condition, ": ", parts...));
}
}  // namespace internal
}  // namespace aten_bridge

// c10 defines CHECK; hence the prefix.
#define TD_CHECK(condition, ...)                                                            \
  do {                                                                                      \
    if (!(condition))                                                                       \
      ::aten_bridge::internal::check_failed(__FILE__, __LINE__, #condition, ##__VA_ARGS__); \
  } while (false)
