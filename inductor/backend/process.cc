#include "inductor/backend/process.h"

#include <cerrno>
#include <thread>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

extern char** environ;

namespace inductor {
namespace {

using Clock = std::chrono::steady_clock;

// Waits until `pid` may be reaped; false at the deadline.
bool wait_for_exit(pid_t pid, Clock::time_point deadline) {
  const int fd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (fd < 0) {  // a kernel older than 5.3
    siginfo_t info{};
    while (waitid(P_PID, pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0) {
      if (Clock::now() >= deadline) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
  }
  pollfd poll_fd{fd, POLLIN, 0};
  int ready = 0;
  do {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    ready = left.count() > 0 ? poll(&poll_fd, 1, static_cast<int>(left.count())) : 0;
  } while (ready < 0 && errno == EINTR);
  close(fd);
  return ready > 0;
}

class SpawnSettings {
 public:
  explicit SpawnSettings(const std::string& log) {
    posix_spawn_file_actions_init(&files_);
    posix_spawn_file_actions_addopen(&files_, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files_, 1, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    posix_spawn_file_actions_adddup2(&files_, 1, 2);
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)
    posix_spawn_file_actions_addclosefrom_np(&files_, 3);
#endif
    posix_spawnattr_init(&attributes_);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    posix_spawnattr_setpgroup(&attributes_,
                              0);  // so that a timeout kills the compiler's children too
    posix_spawnattr_setflags(
        &attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }
  ~SpawnSettings() {
    posix_spawn_file_actions_destroy(&files_);
    posix_spawnattr_destroy(&attributes_);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  const posix_spawn_file_actions_t* files() const { return &files_; }
  const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawn_file_actions_t files_;
  posix_spawnattr_t attributes_;
};

}  // namespace

absl::StatusOr<int> run_process(const std::vector<std::string>& argv, const std::string& log,
                                std::chrono::milliseconds timeout) {
  const auto deadline = Clock::now() + timeout;
  std::vector<char*> arguments;
  for (const std::string& argument : argv) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);

  const SpawnSettings settings(log);
  pid_t pid = 0;
  if (int error = posix_spawnp(&pid, arguments[0], settings.files(), settings.attributes(),
                               arguments.data(), environ))
    return absl::ErrnoToStatus(error, absl::StrCat("cannot run ", argv[0]));

  const bool ended = wait_for_exit(pid, deadline);
  if (!ended) kill(-pid, SIGKILL);
  int status = 0;
  pid_t reaped = 0;
  do {
    reaped = waitpid(pid, &status, 0);
  } while (reaped < 0 && errno == EINTR);
  if (!ended)
    return absl::DeadlineExceededError(
        absl::StrCat(argv[0], " ran longer than ", timeout.count(), " ms"));
  // A process that ignores SIGCHLD has no status to read: what the program made must speak for it.
  if (reaped < 0) return 0;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace inductor
