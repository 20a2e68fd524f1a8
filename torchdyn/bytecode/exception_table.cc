#include "torchdyn/bytecode/exception_table.h"

namespace torchdyn {
namespace {

// Numbers of six bits a byte, the high ones first.
constexpr int kStartsRow = 128, kMoreFollow = 64;

void write_number(std::string* table, int value, int mark) {
  int shift = 30;
  while (shift > 0 && value >> shift == 0) shift -= 6;
  for (; shift > 0; shift -= 6, mark = 0)
    table->push_back(static_cast<char>(mark | kMoreFollow | (value >> shift & 63)));
  table->push_back(static_cast<char>(mark | (value & 63)));
}

// False at the table's end.
bool read_number(std::string_view table, size_t* next, int* value) {
  *value = 0;
  while (*next < table.size()) {
    const int part = static_cast<unsigned char>(table[(*next)++]);
    *value = *value << 6 | (part & 63);
    if ((part & kMoreFollow) == 0) return true;
  }
  return false;
}

}  // namespace

absl::StatusOr<std::vector<ExceptionRow>> decode_exception_table(std::string_view table) {
  std::vector<ExceptionRow> rows;
  for (size_t next = 0; next < table.size();) {
    int start, size, target, depth_and_flag;
    for (int* value : {&start, &size, &target, &depth_and_flag})
      if (!read_number(table, &next, value))
        return absl::InvalidArgumentError("the exception table has a row without an end");
    rows.push_back({start, start + size, target, depth_and_flag >> 1, (depth_and_flag & 1) != 0});
  }
  return rows;
}

std::string encode_exception_table(const std::vector<ExceptionRow>& rows) {
  std::string table;
  for (const ExceptionRow& row : rows) {
    write_number(&table, row.start, kStartsRow);
    write_number(&table, row.end - row.start, 0);
    write_number(&table, row.target, 0);
    write_number(&table, row.depth << 1 | static_cast<int>(row.keeps_index), 0);
  }
  return table;
}

}  // namespace torchdyn
