// The text of what the loop IR shares with the KernelPlan: references to buffers and extern calls.
//   buf3, none = aten::native_dropout(input=buf1, p=0.5, train=true)
//   buf4 = aten::mm(self=buf3[4, 8]{1, 4} + 16, mat2=arg1)
// A reference shows sizes, strides and offset where it is not the whole buffer.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "aten_bridge/graph/argument_text.h"
#include "inductor/ir/loop.h"

namespace inductor {

using aten_bridge::parse_type;
using aten_bridge::Scanner;
using aten_bridge::SyntaxError;

struct NamedBuffer {
  std::string_view name;
  const TensorType* type;
};
using BufferNames = std::function<NamedBuffer(int buffer)>;
using BufferLookup = std::function<std::optional<int>(std::string_view name)>;

// The reference to all of a buffer.
TensorRef whole(int buffer, const TensorType& type);

std::string print(const TensorRef& ref, const BufferNames& names);
std::string print(const std::optional<TensorRef>& ref, const BufferNames& names);  // or "none"
std::string print(const ExternCall& call, const BufferNames& names);

// Read what print() writes; errors are thrown as SyntaxError (scanner.h).
std::optional<TensorRef> parse_ref(Scanner& in, const BufferLookup& lookup,
                                   const BufferNames& names);
ExternCall parse_call(Scanner& in, const BufferLookup& lookup, const BufferNames& names);

}  // namespace inductor
