#include "aten_bridge/base/process_exit.h"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>

#include <pthread.h>

namespace aten_bridge {
namespace {

std::atomic<int> held = 0;  // by all threads
thread_local int held_here = 0;
std::atomic<bool> is_ending = false;
thread_local bool ends_here = false;

void pause() { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }

void wait_for_the_end() {
  while (is_ending && !ends_here) pause();
}

// Not for ever: a thread may wait for what the ending of its interpreter took away.
void wait_for_others() {
  constexpr std::chrono::seconds kLongest(30);
  ends_here = true;
  is_ending = true;
  const auto end = std::chrono::steady_clock::now() + kLongest;
  while (held > held_here && std::chrono::steady_clock::now() < end) pause();
}

}  // namespace

// Registered by the first, after the loader's own: so it is done before any library is destroyed. A
// forked child has one thread.
HoldOffExit::HoldOffExit() {
  [[maybe_unused]] static const int registered =
      std::atexit(wait_for_others) + pthread_atfork(nullptr, nullptr, [] { held = held_here; });
  ++held;
  ++held_here;
  if (!is_ending || ends_here) return;
  --held;  // exit() has seen it or not: nothing was begun
  wait_for_the_end();
}

HoldOffExit::~HoldOffExit() {
  --held_here;
  --held;
  wait_for_the_end();
}

}  // namespace aten_bridge
