// For what a process may not end in the middle of.
//   const HoldOffExit hold;      // capture and compile
//
// exit() destroys static objects and libraries while other threads go on: what they use is gone,
// and a dlopen initialises a destroyed library anew.
#pragma once

namespace aten_bridge {

// While there is one in another thread, exit() waits, half a minute at most. Where the process ends
// meanwhile, or ended before, its thread waits here for that, unless it is the one that called
// exit().
class HoldOffExit {
 public:
  HoldOffExit();
  ~HoldOffExit();
  HoldOffExit(const HoldOffExit&) = delete;
  HoldOffExit& operator=(const HoldOffExit&) = delete;
};

}  // namespace aten_bridge
