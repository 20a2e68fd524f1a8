#include "torchdyn/bytecode/opcodes.h"

#include <array>
#include <bit>

#include "aten_bridge/base/hash_map.h"
#include "aten_bridge/base/str_cat.h"

namespace torchdyn {
namespace {

constexpr int no = -1;

struct Row {
  std::string_view name;
  std::array<int16_t, std::size(kPythonVersions)> number, caches;
  Flow flow;
  SlotAccess access;
};

constexpr Row kRows[] = {
#define OPCODE(name, n11, n12, n13, c11, c12, c13, operand, flow, access, effect) \
  {#name, {n11, n12, n13}, {c11, c12, c13}, Flow::flow, SlotAccess::access},
#include "torchdyn/bytecode/opcodes.def"
#undef OPCODE
};

constexpr const Row& row(Opcode op) { return kRows[static_cast<int>(op)]; }

using NumberTable = std::array<std::optional<Opcode>, 256>;

constexpr NumberTable numbers_of(PythonVersion version) {
  NumberTable table{};
  for (int i = 0; i < kOpcodes; ++i) {
    const int number = kRows[i].number[static_cast<int>(version)];
    if (number != no) table[number] = static_cast<Opcode>(i);
  }
  return table;
}

constexpr NumberTable kByNumber[] = {numbers_of(PythonVersion::k3_11),
                                     numbers_of(PythonVersion::k3_12),
                                     numbers_of(PythonVersion::k3_13)};

constexpr int bits(int value) { return std::popcount(static_cast<unsigned>(value)); }

}  // namespace

std::string_view opcode_name(Opcode op) { return row(op).name; }

std::optional<Opcode> opcode_named(std::string_view name) {
  static const auto* const by_name = [] {
    auto* names = new aten_bridge::HashMap<std::string, Opcode>;
    for (int i = 0; i < kOpcodes; ++i)
      names->emplace(std::string(kRows[i].name), static_cast<Opcode>(i));
    return names;
  }();
  const auto found = by_name->find(std::string(name));
  return found == by_name->end() ? std::nullopt : std::optional(found->second);
}

std::optional<Opcode> opcode_numbered(PythonVersion version, int number) {
  return kByNumber[static_cast<int>(version)].at(number);
}

std::optional<int> opcode_number(Opcode op, PythonVersion version) {
  const int number = row(op).number[static_cast<int>(version)];
  return number == no ? std::nullopt : std::optional(number);
}

int cache_units(Opcode op, PythonVersion version) {
  return row(op).caches[static_cast<int>(version)];
}

Operand operand(Opcode op, [[maybe_unused]] PythonVersion v) {
  using enum PythonVersion;
  using enum Operand;
  switch (op) {
#define OPCODE(name, n11, n12, n13, c11, c12, c13, operand, flow, access, effect) \
  case Opcode::name:                                                              \
    return operand;
#include "torchdyn/bytecode/opcodes.def"
#undef OPCODE
  }
  return kNothing;
}

Flow flow(Opcode op) { return row(op).flow; }

SlotAccess slot_access(Opcode op) { return row(op).access; }

bool is_jump(Opcode op) { return flow(op) == Flow::kBranch || flow(op) == Flow::kJump; }

int name_index(Operand operand, int arg) {
  if (operand == Operand::kFlaggedName) return arg >> 1;
  return operand == Operand::kTwiceFlaggedName ? arg >> 2 : arg;
}

int stack_effect(Opcode op, PythonVersion v, int arg, bool jump) {
  using enum PythonVersion;
  switch (op) {
#define OPCODE(name, n11, n12, n13, c11, c12, c13, operand, flow, access, effect) \
  case Opcode::name:                                                              \
    return effect;
#include "torchdyn/bytecode/opcodes.def"
#undef OPCODE
  }
  return 0;
}

}  // namespace torchdyn
