// Which slots of a frame hold values that are still needed.
//   Liveness live(code, {.slots = 5, .free = 1});
//   live.before(instruction)              // slots that some path from there reads first: {0, 4}
#pragma once

#include <cstdint>
#include <vector>

#include "aten_bridge/base/hash_map.h"
#include "torchdyn/bytecode/instruction.h"

namespace torchdyn {

// Slots of a frame: locals, then cells, then free variables.
struct SlotCounts {
  int slots;  // all of them
  int free;
};

// A slot that holds a cell is needed as long as the cell is. Paths lead through handlers too. Holds
// for the code as it is at construction.
class Liveness {
 public:
  Liveness(const Bytecode& code, SlotCounts counts);

  std::vector<int> before(const Instruction& instruction) const;

 private:
  using Slots = std::vector<bool>;

  SlotCounts counts_;
  std::vector<Slots> live_;  // before each instruction
  aten_bridge::HashMap<const Instruction*, int> index_;
};

}  // namespace torchdyn
