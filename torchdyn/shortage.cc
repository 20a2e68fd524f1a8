#include "torchdyn/shortage.h"

#include <new>
#include <string_view>
#include <system_error>

#include <c10/util/Exception.h>

namespace torchdyn {

bool is_shortage(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsResourceExhausted(status);
}

bool is_shortage(const std::exception& error) {
  if (dynamic_cast<const Shortage*>(&error) || dynamic_cast<const std::bad_alloc*>(&error) ||
      dynamic_cast<const c10::OutOfMemoryError*>(&error))
    return true;
  if (const auto* refused = dynamic_cast<const std::system_error*>(&error))
    return refused->code() == std::errc::resource_unavailable_try_again ||
           refused->code() == std::errc::not_enough_memory;
  // LibTorch's allocator for the CPU raises an error without a type of its own.
  const auto* of_libtorch = dynamic_cast<const c10::Error*>(&error);
  return of_libtorch &&
         std::string_view(of_libtorch->what_without_backtrace()).find("DefaultCPUAllocator: ") !=
             std::string_view::npos;
}

}  // namespace torchdyn
