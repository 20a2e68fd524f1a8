// co_exceptiontable: which code units have which handler.
//   const auto rows = decode_exception_table(bytes.exception_table);
//   std::string table = encode_exception_table(*rows);
//
// CPython: Objects/exception_handling_notes.txt.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace torchdyn {

struct ExceptionRow {
  int start, end;  // code units from start on, before end
  int target;      // the handler's first code unit
  int depth;
  bool keeps_index;
};

absl::StatusOr<std::vector<ExceptionRow>> decode_exception_table(std::string_view table);
std::string encode_exception_table(const std::vector<ExceptionRow>& rows);

}  // namespace torchdyn
