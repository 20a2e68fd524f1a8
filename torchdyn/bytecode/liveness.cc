#include "torchdyn/bytecode/liveness.h"

namespace torchdyn {
namespace {

using Slots = std::vector<bool>;

void merge(Slots* into, const Slots& from) {
  for (size_t slot = 0; slot < from.size(); ++slot)
    if (from[slot]) (*into)[slot] = true;
}

// From what is live after the instruction to what is live before it; backwards, so what comes
// second is undone first.
void undo(const Instruction& i, SlotCounts counts, Slots* live) {
  const uint32_t one = i.arg, first = i.arg >> 4, second = i.arg & 15;
  const auto read = [&](uint32_t slot) { (*live)[slot] = true; };
  const auto write = [&](uint32_t slot) { (*live)[slot] = false; };
  switch (slot_access(i.op)) {
    case SlotAccess::kNone:
      return;
    case SlotAccess::kRead:
      return read(one);
    case SlotAccess::kWrite:
      return write(one);
    case SlotAccess::kReadWrite:
      return read(one);
    case SlotAccess::kReadRead:
      return read(first), read(second);
    case SlotAccess::kWriteRead:
      return read(second), write(first);
    case SlotAccess::kWriteWrite:
      return write(first), write(second);
    case SlotAccess::kWriteFree:
      for (int slot = counts.slots - counts.free; slot < counts.slots; ++slot) write(slot);
      return;
  }
}

}  // namespace

Liveness::Liveness(const Bytecode& code, SlotCounts counts)
    : counts_(counts), live_(code.instructions.size(), Slots(counts.slots)) {
  int count = 0;
  for (const Instruction& instruction : code.instructions) index_[&instruction] = count++;
  for (bool changed = true; changed;) {
    changed = false;
    int index = count;
    for (auto i = code.instructions.rbegin(); i != code.instructions.rend(); ++i) {
      --index;
      Slots live(counts.slots);
      const bool goes_on = flow(i->op) == Flow::kNext || flow(i->op) == Flow::kBranch;
      if (goes_on && index + 1 < count) merge(&live, live_[index + 1]);
      if (i->target) merge(&live, live_[index_.at(i->target)]);
      undo(*i, counts, &live);
      if (i->handler) merge(&live, live_[index_.at(i->handler->target)]);
      if (live == live_[index]) continue;
      live_[index] = std::move(live);
      changed = true;
    }
  }
}

std::vector<int> Liveness::before(const Instruction& instruction) const {
  std::vector<int> slots;
  const Slots& live = live_[index_.at(&instruction)];
  for (int slot = 0; slot < counts_.slots; ++slot)
    if (live[slot]) slots.push_back(slot);
  return slots;
}

}  // namespace torchdyn
