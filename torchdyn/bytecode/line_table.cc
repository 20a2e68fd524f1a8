#include "torchdyn/bytecode/line_table.h"

#include <algorithm>
#include <utility>

namespace torchdyn {
namespace {

// Forms of an entry; those below kOneLine hold bits of the column, and follow the same line.
enum Form { kOneLine = 10, kNoColumns = 13, kLong = 14, kNowhere = 15 };

constexpr int kMostUnits = 8;  // that an entry covers

// Numbers of six bits a byte, the low ones first; a bit says that more follow.
constexpr int kMoreFollow = 64;

void write_number(std::string* table, unsigned value) {
  for (; value >= kMoreFollow; value >>= 6)
    table->push_back(static_cast<char>(kMoreFollow | (value & 63)));
  table->push_back(static_cast<char>(value));
}

void write_signed(std::string* table, int value) {
  const unsigned magnitude = value < 0 ? -static_cast<unsigned>(value) : value;
  write_number(table, magnitude << 1 | (value < 0));
}

class Reader {
 public:
  explicit Reader(std::string_view table) : table_(table) {}

  bool at_end() const { return next_ >= table_.size(); }
  bool failed() const { return failed_; }

  int byte() {
    if (at_end()) failed_ = true;
    return failed_ ? 0 : static_cast<unsigned char>(table_[next_++]);
  }

  int number() {
    unsigned value = 0;
    for (int shift = 0; shift < 32; shift += 6) {
      const int part = byte();
      value |= static_cast<unsigned>(part & 63) << shift;
      if ((part & kMoreFollow) == 0) return static_cast<int>(value);
    }
    failed_ = true;
    return 0;
  }

  int signed_number() {
    const int value = number();
    return (value & 1) != 0 ? -(value >> 1) : value >> 1;
  }

 private:
  std::string_view table_;
  size_t next_ = 0;
  bool failed_ = false;
};

Position read_position(Reader& in, int form, int* line) {
  if (form == kNowhere) return {};
  if (form == kLong) {
    *line += in.signed_number();
    const int end_line = *line + in.number();
    const int column = in.number() - 1;
    return {*line, end_line, column, in.number() - 1};
  }
  if (form == kNoColumns) {
    *line += in.signed_number();
    return {*line, *line, -1, -1};
  }
  if (form >= kOneLine) {
    *line += form - kOneLine;
    const int column = in.byte();
    return {*line, *line, column, in.byte()};
  }
  const int rest = in.byte();
  const int column = form * 8 + (rest >> 4);
  return {*line, *line, column, column + (rest & 15)};
}

}  // namespace

absl::StatusOr<std::vector<Position>> decode_line_table(std::string_view table, int first_line,
                                                        int units) {
  std::vector<Position> positions;
  positions.reserve(units);
  Reader in(table);
  int line = first_line;
  while (!in.at_end()) {
    const int head = in.byte();
    const Position position = read_position(in, head >> 3 & 15, &line);
    if ((head & 128) == 0 || in.failed())
      return absl::InvalidArgumentError("the line table has an entry without an end");
    positions.insert(positions.end(), (head & 7) + 1, position);
  }
  positions.resize(units);
  return positions;
}

void LineTableWriter::add(const Position& position, int units) {
  if (!merges_ || position != pending_) {
    write_entry(pending_, std::exchange(pending_units_, 0));
    pending_ = position;
  }
  pending_units_ += units;
}

std::string LineTableWriter::finish() {
  write_entry(pending_, std::exchange(pending_units_, 0));
  return std::move(table_);
}

void LineTableWriter::write_head(int form, int units) {
  table_.push_back(static_cast<char>(128 | form << 3 | (units - 1)));
}

// CPython: Python/compile.c (3.11), Python/assemble.c, write_location_info_entry.
void LineTableWriter::write_entry(const Position& p, int units) {
  for (; units > kMostUnits; units -= kMostUnits) write_entry(p, kMostUnits);
  if (units == 0) return;
  if (p.line < 0) return write_head(kNowhere, units);
  const int delta = p.line - std::exchange(line_, p.line);
  const bool one_line = p.end_line == p.line;
  const bool has_columns = p.column >= 0 && p.end_column >= 0;
  if (!has_columns && (one_line || p.end_line == -1)) {
    write_head(kNoColumns, units);
    return write_signed(&table_, delta);
  }
  if (has_columns && one_line && delta == 0 && p.column < 80 && p.end_column >= p.column &&
      p.end_column - p.column < 16) {
    write_head(p.column >> 3, units);
    table_.push_back(static_cast<char>((p.column & 7) << 4 | (p.end_column - p.column)));
    return;
  }
  if (has_columns && one_line && delta >= 0 && delta < 3 && p.column < 128 && p.end_column < 128) {
    write_head(kOneLine + delta, units);
    table_.push_back(static_cast<char>(p.column));
    table_.push_back(static_cast<char>(p.end_column));
    return;
  }
  write_head(kLong, units);
  write_signed(&table_, delta);
  write_number(&table_, p.end_line - p.line);
  write_number(&table_, p.column + 1);
  write_number(&table_, p.end_column + 1);
}

}  // namespace torchdyn
