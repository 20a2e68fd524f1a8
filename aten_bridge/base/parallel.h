// Work of one call on several threads.
//   for_each_in_parallel(graphs.size(), [&](size_t i) { planned[i] = plan(graphs[i]); });
#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace aten_bridge {

// Runs run(0) to run(count - 1), each on a thread of its own, the last on this one, and with it
// those for which there is no thread. What any of them raises is raised when all have ended.
template <class Run>
void for_each_in_parallel(size_t count, const Run& run) {
  std::exception_ptr raised;
  std::mutex mutex;
  const auto keep_what_it_raises = [&](size_t i) {
    try {
      run(i);
    } catch (...) {
      const std::lock_guard lock(mutex);
      raised = std::current_exception();
    }
  };
  {
    size_t next = 0;
    std::vector<std::jthread> threads;
    try {
      threads.reserve(count);
      for (; next + 1 < count; ++next) threads.emplace_back(std::cref(keep_what_it_raises), next);
    } catch (const std::exception&) {  // no thread
    }
    for (; next < count; ++next) keep_what_it_raises(next);
  }
  if (raised) std::rethrow_exception(raised);
}

}  // namespace aten_bridge
