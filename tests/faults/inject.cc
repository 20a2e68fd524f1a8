// Lets each request of a training step fail, one process a request, and judges what is left.
//
//   fault_injection --every 1                                 # every place that asks for something
//   fault_injection --step backward --resource memory --at 17 # one of them, told in full
//
// A fault strikes during one phase (a first call, a build of kernels, a warm call, a backward,
// ...). Then the process lives; the call has given eager's results or raised that something is
// short; parameters, buffers, gradients and the random stream are as eager leaves them or as they
// were; and the next step gives eager's results by compiled code. Functions of LibTorch that end
// the process when memory is short are listed; none of ours may. The exit status is 0 when nothing
// was lost.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <sstream>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include "tests/faults/failing.h"
#include "tests/faults/training.h"
#include "torchdyn/compile.h"

namespace faults {
namespace {

using failing::Fault;
using failing::Resource;
using Door = torchdyn::Compiled<Function>;

// ---- Phases
// --------------------------------------------------------------------------------------

struct Step {
  const char* name;
  void (*prepare)(Subject& subject);
  void (*act)(Subject& subject);  // where the fault strikes
  bool builds = false;  // into a cache of its own; only what asks for something not before
  bool freezes = false;
};

void nothing(Subject&) {}
void call(Subject& s) { s.results = {s.call()}; }
void backward(Subject& s) { s.results[0].backward(); }
void train(Subject& s) {
  call(s);
  backward(s);
}
// Whether there are gradients is guarded: a step with and one without are two variants.
void train_twice(Subject& s) {
  train(s);
  train(s);
}
void call_longer(Subject& s) { s.results = {s.function(*s.net, s.longer_x, s.longer_y)}; }
void evaluate(Subject& s) {
  torch::NoGradGuard no_grad;
  call(s);
}
void stop_training(Subject& s) { s.net->eval(); }

// What ends a thread ends the caller.
void call_in_threads(Subject& s, int count) {
  s.results.assign(count, Tensor());
  std::vector<std::exception_ptr> errors(count);
  {
    std::vector<std::jthread> threads;
    threads.reserve(count);
    for (int i = 0; i < count; ++i)
      threads.emplace_back([&s, &errors, i] {
        try {
          s.results[i] = s.call();
        } catch (...) {
          errors[i] = std::current_exception();
        }
      });
  }
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
}

const Step kSteps[] = {
    {"first call", nothing, call},
    {"first step", nothing, train},
    {"first inference", stop_training, evaluate},
    {"build", nothing, call, /*builds=*/true},
    {"warm call", train_twice, call},
    {"backward", [](Subject& s) { train_twice(s), call(s); }, backward},
    {"other sizes", train, call_longer},
    {"frozen", stop_training, evaluate, false, /*freezes=*/true},
    {"frozen, warm", [](Subject& s) { stop_training(s), evaluate(s); }, evaluate, false, true},
    {"in a thread", nothing, [](Subject& s) { call_in_threads(s, 1); }},
    {"in threads", stop_training, [](Subject& s) { call_in_threads(s, 3); }},
};

// ---- One fault, in a process of its own
// ----------------------------------------------------------

enum Outcome { kAnswered, kRaised, kNotMet, kLost };

struct Judged {
  Outcome outcome;
  std::string problem = {};
};

bool is_clear(const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error) || dynamic_cast<const std::system_error*>(&error))
    return true;
  return std::string_view(error.what()).find("memory") != std::string_view::npos;
}

bool ran_compiled(const Tensor& loss) {
  return !loss.requires_grad() || loss.grad_fn()->name() == "CompiledFunctionBackward";
}

// What is compiled serves, and nothing else is left behind.
std::string problem_of(const torchdyn::Explanation& explanation) {
  if (explanation.variants.empty()) return "nothing is compiled";
  for (const auto& variant : explanation.variants) {
    if (!variant.eager_reason.empty()) return "stays in eager: " + variant.eager_reason;
    for (const auto& graph : variant.graphs)
      if (!graph.rejected.empty()) return "left to ATen: " + graph.rejected[0];
  }
  return "";
}

// The next step, without a fault, beside an eager one from the same state.
std::string next_step(Subject& subject, const Door& door) {
  Subject twin(loss_of);
  twin.net->train(subject.net->is_training());
  const State now = State::of(subject);
  const auto next = subject.net->is_training() ? train : evaluate;
  now.put_into(twin);
  next(twin);
  const State want = State::of(twin);
  now.put_into(subject);
  next(subject);
  if (!same(subject.results[0], twin.results[0])) return "the next step gives something else";
  if (std::string lost = difference(State::of(subject), want); !lost.empty())
    return "after the next step " + lost;
  if (!ran_compiled(subject.results[0]))
    return "the next step ran in eager\n" + door.explain().str();
  return problem_of(door.explain());
}

class Trial {
 public:
  explicit Trial(const Step& step)
      : step_(step),
        door_(torchdyn::compile<Function>(loss_of, options())),
        subject_([this](Net& n, const Tensor& x, const Tensor& y) { return door_(n, x, y); }) {
    Subject twin(loss_of);
    step.prepare(twin);
    step.act(twin);
    want_ = State::of(twin);
    wanted_results_ = twin.results;
    State(fresh_).put_into(subject_);
    step.prepare(subject_);
    before_ = State::of(subject_);
  }

  failing::Places places(Resource resource) {
    failing::record(resource);
    step_.act(subject_);
    return failing::recorded();
  }

  Judged judge(const Fault& fault) {
    Outcome outcome = kAnswered;
    std::string raised;
    failing::begin(fault);
    bool met = false, clear = true;
    try {
      step_.act(subject_);
      met = failing::end();
    } catch (const std::exception& error) {
      met = failing::end();
      clear = is_clear(error);
      raised = error.what();
      outcome = kRaised;
    }
    if (!met) return {outcome == kRaised ? kLost : kNotMet, raised};
    if (!clear) return {kLost, "an unclear error: " + raised};
    if (std::string problem = left_by(outcome); !problem.empty()) return {kLost, problem};
    if (std::string problem = next_step(subject_, door_); !problem.empty()) return {kLost, problem};
    return {outcome, raised};
  }

 private:
  torchdyn::Options options() const {
    torchdyn::Options options;
    options.freezing = step_.freezes;
    return options;
  }

  std::string left_by(Outcome outcome) const {
    const State after = State::of(subject_);
    if (outcome == kRaised) return difference(after, want_, &before_);
    for (size_t i = 0; i < wanted_results_.size(); ++i)
      if (!same(subject_.results[i], wanted_results_[i])) return "the result is something else";
    return difference(after, want_);
  }

  const Step& step_;
  Door door_;
  Subject subject_;
  State fresh_ = State::of(subject_);
  State before_, want_;
  std::vector<Tensor> wanted_results_;
};

// ---- All of them
// ---------------------------------------------------------------------------------

struct Ended {
  int status = 0;
  std::string said;
};

// Runs `body` in a child, which ends with its result.
template <class Body>
Ended in_a_child(const Body& body) {
  int ends[2];
  TORCH_CHECK(pipe(ends) == 0, "no pipe");
  const pid_t child = fork();
  TORCH_CHECK(child >= 0, "no process");
  if (child == 0) {
    dup2(ends[1], 1);
    dup2(ends[1], 2);
    close(ends[0]);
    close(ends[1]);
    alarm(120);  // a call that hangs
    const int result = body();
    std::fflush(stdout);
    _exit(result);
  }
  close(ends[1]);
  Ended ended;
  char some[4096];
  for (ssize_t n; (n = read(ends[0], some, sizeof some)) > 0;)
    ended.said.append(some, static_cast<size_t>(n));
  close(ends[0]);
  waitpid(child, &ended.status, 0);
  return ended;
}

// A cache without anything in it, for as long as it lives.
class EmptyCache {
 public:
  EmptyCache() {
    if (const char* before = std::getenv(kVariable)) before_ = before;
    char folder[] = "/tmp/torchdyn-faults-XXXXXX";
    path_ = mkdtemp(folder);
    setenv(kVariable, path_.c_str(), 1);
  }
  ~EmptyCache() {
    if (before_)
      setenv(kVariable, before_->c_str(), 1);
    else
      unsetenv(kVariable);
    std::filesystem::remove_all(path_);
  }
  EmptyCache(const EmptyCache&) = delete;
  EmptyCache& operator=(const EmptyCache&) = delete;

 private:
  static constexpr const char* kVariable = "TORCHDYN_CACHE_DIR";
  std::optional<std::string> before_;
  std::string path_;
};

struct Counts {
  int answered = 0, raised = 0, not_met = 0, libtorch_ended = 0, lost = 0;
};

struct Wanted {
  std::string step, resource;
  int64_t at = 0, every = 1;
  uint64_t seed = 0;
  std::optional<bool> lasting;
};

class Campaign {
 public:
  explicit Campaign(Wanted wanted) : wanted_(std::move(wanted)), random_(wanted_.seed) {}

  bool run() {
    for (const Step& step : kSteps) {
      if (!wanted_.step.empty() && wanted_.step != step.name) continue;
      Trial trial(step);
      for (int r = 0; r < failing::kResources; ++r) {
        const auto resource = static_cast<Resource>(r);
        if (wanted_.resource.empty() || wanted_.resource == failing::name_of(resource))
          run(step, trial, resource);
      }
    }
    for (const auto& [by, times] : libtorch_)
      std::cout << "LibTorch " << by << ", " << times << " times\n";
    std::cout << total_.answered << " answered, " << total_.raised << " raised, "
              << total_.libtorch_ended << " ended by LibTorch, " << total_.not_met << " not met, "
              << total_.lost << " lost" << std::endl;
    return total_.lost == 0;
  }

 private:
  void run(const Step& step, Trial& trial, Resource resource) {
    const auto [requests, places] = find_places(step, trial, resource);
    if (requests == 0) return;
    for (const bool lasting : {false, true}) {
      if (wanted_.lasting.value_or(lasting) != lasting) continue;
      Counts counts;
      int runs = 0;
      for (int64_t at : pick(places)) {
        one(step, trial, {resource, at, lasting}, counts);
        ++runs;
      }
      std::cout << step.name << ", " << failing::name_of(resource)
                << (lasting ? " from then on: " : ": ") << runs << " of " << places.size()
                << " places (" << requests << " requests): " << counts.answered << " answered, "
                << counts.raised << " raised, " << counts.libtorch_ended << " ended by LibTorch, "
                << counts.not_met << " not met, " << counts.lost << " lost" << std::endl;
      total_.answered += counts.answered;
      total_.raised += counts.raised;
      total_.not_met += counts.not_met;
      total_.libtorch_ended += counts.libtorch_ended;
      total_.lost += counts.lost;
    }
  }

  failing::Places find_places(const Step& step, Trial& trial, Resource resource) {
    std::optional<EmptyCache> cache;
    if (step.builds) cache.emplace();
    const Ended found = in_a_child([&] {
      const failing::Places places = trial.places(resource);
      std::printf("\n%ld", places.requests);
      for (const auto& [place, number] : places.first) std::printf(" %lu %ld", place, number);
      return 0;
    });
    std::istringstream in(found.said.substr(found.said.rfind('\n') + 1));
    failing::Places places;
    in >> places.requests;
    for (failing::Request request; in >> request.place >> request.number;)
      if (known_.insert(request.place).second || !step.builds) places.first.push_back(request);
    return places;
  }

  std::vector<int64_t> pick(const std::vector<failing::Request>& places) {
    if (wanted_.at > 0) return {wanted_.at};
    std::vector<int64_t> picked;
    for (size_t i = random_() % wanted_.every; i < places.size(); i += wanted_.every)
      picked.push_back(places[i].number);
    return picked;
  }

  void one(const Step& step, Trial& trial, const Fault& fault, Counts& counts) {
    std::optional<EmptyCache> cache;
    if (step.builds) cache.emplace();
    const Ended ended = in_a_child([&] {
      const Judged judged = trial.judge(fault);
      std::printf("%s\n", judged.problem.c_str());
      return static_cast<int>(judged.outcome);
    });
    const int code = WIFEXITED(ended.status) ? WEXITSTATUS(ended.status) : -1;
    if (wanted_.at > 0) std::cout << ended.said;
    if (code == kAnswered) {
      ++counts.answered;
    } else if (code == kRaised) {
      ++counts.raised;
    } else if (code == kNotMet) {
      ++counts.not_met;
    } else if (code == failing::kLibTorchEnded) {
      ++counts.libtorch_ended;
      const size_t by = ended.said.rfind("ended by");
      ++libtorch_[ended.said.substr(by, ended.said.find('\n', by) - by)];
    } else {
      ++counts.lost;
      std::cout << "LOST: --step '" << step.name << "' --resource "
                << failing::name_of(fault.resource) << " --at " << fault.at
                << (fault.lasting ? " --lasting" : " --once") << ": "
                << (WIFSIGNALED(ended.status)
                        ? "ended by signal " + std::to_string(WTERMSIG(ended.status)) + "; "
                        : "")
                << ended.said.substr(0, 1500) << std::flush;
    }
  }

  const Wanted wanted_;
  std::mt19937_64 random_;
  Counts total_;
  std::map<std::string, int> libtorch_;
  std::set<uint64_t> known_;  // places
};

Wanted parse(int argc, char** argv) {
  Wanted wanted;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "--lasting" || option == "--once") {
      wanted.lasting = option == "--lasting";
      continue;
    }
    TORCH_CHECK(i + 1 < argc, option, " wants a value");
    const std::string value = argv[++i];
    if (option == "--step")
      wanted.step = value;
    else if (option == "--resource")
      wanted.resource = value;
    else if (option == "--at")
      wanted.at = std::stoll(value);
    else if (option == "--every")
      wanted.every = std::stoll(value);
    else if (option == "--seed")
      wanted.seed = std::stoull(value);
    else
      TORCH_CHECK(false, "no option ", option);
  }
  return wanted;
}

}  // namespace
}  // namespace faults

int main(int argc, char** argv) {
  at::set_num_threads(1);  // children are forked
  const faults::EmptyCache cache;
  failing::install();
  return faults::Campaign(faults::parse(argc, argv)).run() ? 0 : 1;
}
