// C++ text as code of this process.
//   auto library = compile_shared_object(text, "-O1");
//   auto* f = reinterpret_cast<int (*)()>(function(library, "f"));     // checked: there is one
// With $CXX, or c++; a failure names the folder that keeps text and log.
#pragma once

#include <memory>
#include <string>

namespace inductor::testing {

std::shared_ptr<void> compile_shared_object(const std::string& text, const std::string& flags);
void* function(const std::shared_ptr<void>& library, const std::string& name);

}  // namespace inductor::testing
