#include "tests/faults/failing.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <string_view>
#include <unordered_set>
#include <vector>

#include <c10/core/Allocator.h>
#include <c10/util/Exception.h>
#include <cxxabi.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include <unwind.h>

namespace failing {
namespace {

constexpr int kCallers = 6;  // that make a place

std::atomic<bool> armed = false, recording = false;
Fault fault;
std::atomic<int64_t> count = 0;
thread_local bool inside = false;  // what is done here does not count

std::unordered_set<uint64_t> seen;  // places; one thread at a time
std::vector<Request> first;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

struct Callers {
  uintptr_t at[64];
  int count = 0, most = 0;
};

_Unwind_Reason_Code visit(_Unwind_Context* context, void* argument) {
  auto& callers = *static_cast<Callers*>(argument);
  callers.at[callers.count++] = _Unwind_GetIP(context);
  return callers.count == callers.most ? _URC_END_OF_STACK : _URC_NO_REASON;
}

Callers callers(int most) {
  Callers found;
  found.most = most;
  _Unwind_Backtrace(visit, &found);
  return found;
}

void note(int64_t number) {
  const Callers from = callers(kCallers + 3);  // three are here
  uint64_t place = 0;
  for (int i = 3; i < from.count; ++i) place = (place ^ from.at[i]) * 0x9e3779b97f4a7c15u;
  pthread_mutex_lock(&mutex);
  if (seen.insert(place).second) first.push_back({place, number});
  pthread_mutex_unlock(&mutex);
}

// Counts a request; true where it is to fail.
bool fails(Resource resource) {
  if (!armed || inside || resource != fault.resource) return false;
  inside = true;
  const int64_t number = ++count;
  if (recording) note(number);
  inside = false;
  return number == fault.at || (fault.lasting && fault.at > 0 && number > fault.at);
}

bool fails_with(Resource resource, int error) {
  if (!fails(resource)) return false;
  errno = error;
  return true;
}

void start(const Fault& next) {
  fault = next;
  count = 0;
  armed = true;
}

// LibTorch's CPU allocator; raises as it does when the system refuses, or as a device's.
class Tensors final : public c10::Allocator {
 public:
  explicit Tensors(c10::Allocator* whole) : whole_(whole) {}
  c10::DataPtr allocate(size_t bytes) override {
    if (!fails(Resource::kTensors)) return whole_->allocate(bytes);
    TORCH_CHECK_WITH(OutOfMemoryError, fault.at % 2 == 0, "out of memory: ", bytes, " bytes");
    TORCH_CHECK(false, "DefaultCPUAllocator: can't allocate memory: you tried to allocate ", bytes,
                " bytes.");
  }
  c10::DeleterFnPtr raw_deleter() const override { return whole_->raw_deleter(); }
  void copy_data(void* to, const void* from, size_t bytes) const override {
    whole_->copy_data(to, from, bytes);
  }

 private:
  c10::Allocator* whole_;
};

thread_local uintptr_t unwound = 0;  // the function that the last exception came to

// Its name where the file shows it; addr2line -Cfe finds the others.
void tell_name(uintptr_t address) {
  Dl_info info{};
  const ElfW(Sym)* symbol = nullptr;
  dladdr1(reinterpret_cast<void*>(address), &info,
          const_cast<void**>(reinterpret_cast<const void**>(&symbol)), RTLD_DL_SYMENT);
  if (symbol == nullptr || address >= reinterpret_cast<uintptr_t>(info.dli_saddr) + symbol->st_size)
    return;
  int status = 0;
  char* name = abi::__cxa_demangle(info.dli_sname, nullptr, nullptr, &status);
  std::printf(" %.160s", status == 0 ? name : info.dli_sname);
  std::free(name);
}

// Prints where in which file a caller is; true where that is LibTorch's.
bool tell(const char* what, uintptr_t after_call) {
  const uintptr_t address = after_call - 1;
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(address), &info) == 0) return false;
  const std::string_view file = info.dli_fname;
  std::printf("%s %s+0x%lx", what, info.dli_fname,
              address - reinterpret_cast<uintptr_t>(info.dli_fbase));
  tell_name(address);
  std::printf("\n");
  const auto in = [&](std::string_view part) { return file.find(part) != file.npos; };
  return in("/libtorch_") || in("/libtorch.") || in("/libc10");
}

[[noreturn]] void tell_callers_and_end(int status) {
  const Callers from = callers(64);
  for (int i = 0; i < from.count; ++i) tell(" called by", from.at[i]);
  std::fflush(stdout);
  _exit(status);
}

// The function that lets no exception out, then the callers.
[[noreturn]] void tell_who_ended() {
  inside = true;
  tell_callers_and_end(tell("ended by", unwound) ? kLibTorchEnded : kWeEnded);
}

// Telling needs the allocator, which may be what broke: then the alarm ends it.
void tell_signal(int signal) {
  inside = true;
  std::signal(SIGALRM, SIG_DFL);
  alarm(5);
  std::printf("signal %d\n", signal);
  tell_callers_and_end(kWeEnded);
}

template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}  // namespace

const char* name_of(Resource resource) {
  constexpr const char* kNames[kResources] = {"memory", "tensors", "threads", "processes", "files"};
  return kNames[static_cast<int>(resource)];
}

void begin(const Fault& next) { start(next); }

bool end() {
  armed = false;
  return count >= fault.at;
}

void record(Resource resource) {
  seen.clear();
  first.clear();
  recording = true;
  start({resource, 0, false});
}

Places recorded() {
  armed = recording = false;
  return {count, first};
}

void install() {
  static Tensors tensors(c10::GetAllocator(c10::kCPU));
  c10::SetAllocator(c10::kCPU, &tensors, /*priority=*/100);
  std::set_terminate(tell_who_ended);
  for (int number : {SIGSEGV, SIGBUS, SIGABRT, SIGALRM}) std::signal(number, tell_signal);
}

// Ends by memory that there is, so that its callers are in sight.
void* allocate(size_t bytes, size_t alignment) {
  if (fails(Resource::kMemory)) return nullptr;
  void* memory = nullptr;
  if (alignment <= alignof(std::max_align_t))
    memory = std::malloc(bytes == 0 ? 1 : bytes);
  else if (posix_memalign(&memory, alignment, bytes) != 0)
    memory = nullptr;
  return memory;
}

}  // namespace failing

// ---- In the place of the language's and the system's
// ----------------------------------------------

using failing::Resource;

namespace {
void* allocate_or_throw(size_t bytes, size_t alignment = 1) {
  if (void* memory = failing::allocate(bytes, alignment)) return memory;
  throw std::bad_alloc();
}
}  // namespace

void* operator new(size_t n) { return allocate_or_throw(n); }
void* operator new[](size_t n) { return allocate_or_throw(n); }
void* operator new(size_t n, std::align_val_t a) {
  return allocate_or_throw(n, static_cast<size_t>(a));
}
void* operator new[](size_t n, std::align_val_t a) {
  return allocate_or_throw(n, static_cast<size_t>(a));
}
void* operator new(size_t n, const std::nothrow_t&) noexcept { return failing::allocate(n, 1); }
void* operator new[](size_t n, const std::nothrow_t&) noexcept { return failing::allocate(n, 1); }
void* operator new(size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  return failing::allocate(n, static_cast<size_t>(a));
}
void* operator new[](size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  return failing::allocate(n, static_cast<size_t>(a));
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, size_t) noexcept { std::free(p); }
void operator delete[](void* p, size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, size_t, std::align_val_t) noexcept { std::free(p); }

// Each: fails where it is its turn, else is the system's.
#define IN_PLACE_OF(resource, error, failure, result, name, parameters, ...)              \
  extern "C" __attribute__((visibility("default"))) result name parameters {              \
    static const auto whole = failing::next<result(*) parameters>(#name);                 \
    return failing::fails_with(Resource::resource, error) ? failure : whole(__VA_ARGS__); \
  }

IN_PLACE_OF(kThreads, EAGAIN, EAGAIN, int, pthread_create,
            (pthread_t * thread, const pthread_attr_t* attributes, void* (*body)(void*),
             void* argument),
            thread, attributes, body, argument)
IN_PLACE_OF(kProcesses, EAGAIN, EAGAIN, int, posix_spawnp,
            (pid_t * pid, const char* file, const posix_spawn_file_actions_t* actions,
             const posix_spawnattr_t* attributes, char* const* argv, char* const* environment),
            pid, file, actions, attributes, argv, environment)
IN_PLACE_OF(kFiles, EMFILE, nullptr, FILE*, fopen64, (const char* path, const char* mode), path,
            mode)
IN_PLACE_OF(kFiles, ENOSPC, -1, ssize_t, write, (int fd, const void* data, size_t size), fd, data,
            size)
IN_PLACE_OF(kFiles, ENOSPC, -1, ssize_t, writev, (int fd, const iovec* parts, int n), fd, parts, n)
IN_PLACE_OF(kFiles, ENOSPC, -1, int, rename, (const char* from, const char* to), from, to)
IN_PLACE_OF(kFiles, ENOSPC, -1, int, symlink, (const char* to, const char* at), to, at)
IN_PLACE_OF(kFiles, ENOSPC, -1, int, mkdir, (const char* path, mode_t mode), path, mode)
IN_PLACE_OF(kFiles, ENOSPC, nullptr, char*, mkdtemp, (char* path), path)

extern "C" __attribute__((visibility("default"))) int open(const char* path, int flags, ...) {
  static const auto whole = failing::next<int (*)(const char*, int, ...)>("open");
  va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  const int error = (flags & O_CREAT) != 0 ? ENOSPC : EMFILE;
  return failing::fails_with(Resource::kFiles, error) ? -1 : whole(path, flags, mode);
}

// The language asks it about each function that an exception comes to.
extern "C" __attribute__((visibility("default"))) _Unwind_Reason_Code __gxx_personality_v0(
    int version, _Unwind_Action action, _Unwind_Exception_Class kind, _Unwind_Exception* exception,
    _Unwind_Context* context) {
  static const auto whole = failing::next<_Unwind_Reason_Code (*)(
      int, _Unwind_Action, _Unwind_Exception_Class, _Unwind_Exception*, _Unwind_Context*)>(
      "__gxx_personality_v0");
  failing::unwound = _Unwind_GetIP(context);
  return whole(version, action, kind, exception, context);
}
