// Makes the N-th of something fail, for the whole program: its operator new, LibTorch's CPU
// allocator, and the calls to the system that start threads and processes or touch files are
// replaced by ones that count.
//   failing::begin({Resource::kMemory, 17, /*lasting=*/false});   // the 17th from here
//   run();
//   bool met = failing::end();                                    // whether there were as many
#pragma once

#include <cstdint>
#include <vector>

namespace failing {

enum class Resource : uint8_t { kMemory, kTensors, kThreads, kProcesses, kFiles };
inline constexpr int kResources = 5;
const char* name_of(Resource resource);

struct Fault {
  Resource resource = Resource::kMemory;
  int64_t at = 0;        // counted from 1, over all threads
  bool lasting = false;  // and all after it
};

void begin(const Fault& fault);
bool end();

// The first request from each place between record() and recorded().
void record(Resource resource);
struct Request {
  uint64_t place;  // the innermost few callers; the same in each fork of a process
  int64_t number;
};
struct Places {
  int64_t requests = 0;
  std::vector<Request> first;
};
Places recorded();

// Once, before all else: takes LibTorch's allocator over, and std::terminate, which then tells
// whose function ended the process by its exit status: one of LibTorch's or one of ours.
void install();
inline constexpr int kLibTorchEnded = 77, kWeEnded = 78;

}  // namespace failing
