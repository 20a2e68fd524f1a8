// co_linetable: where in the source code units come from.
//   std::vector<Position> per_unit = decode_line_table(bytes.line_table, first_line,
//   units).value(); LineTableWriter w(PythonVersion::k3_12, first_line); w.add(position, 3); // of
//   the next three code units std::string table = w.finish();
//
// CPython: Objects/locations.md.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "torchdyn/bytecode/instruction.h"

namespace torchdyn {

// One position for each of `units` code units; what the table does not cover is unknown.
absl::StatusOr<std::vector<Position>> decode_line_table(std::string_view table, int first_line,
                                                        int units);

// Writes as that version's compiler does: from 3.12 on, neighbours with one position are one entry.
class LineTableWriter {
 public:
  LineTableWriter(PythonVersion version, int first_line)
      : merges_(version >= PythonVersion::k3_12), line_(first_line) {}

  void add(const Position& position, int units);
  std::string finish();

 private:
  void write_entry(const Position& position, int units);
  void write_head(int form, int units);

  bool merges_;
  int line_;  // that the next entry counts from
  Position pending_;
  int pending_units_ = 0;
  std::string table_;
};

}  // namespace torchdyn
