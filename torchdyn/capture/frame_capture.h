// Captures frames as they begin, and runs what was captured where its guards hold.
//   FrameCapture capture(gil, backend);       // backend(graph_module, example_inputs) -> callable
//   EvalScope scope(gil, &capture);
//   call(...);
//   capture.events()                          // what became of each frame
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "aten_bridge/base/hash_map.h"
#include "torchdyn/capture/graph_break.h"
#include "torchdyn/capture/open_sizes.h"
#include "torchdyn/cpython/eval_hook.h"

namespace torchdyn {

class Symbols;
class Translator;
struct FrameVariant;

class FrameCapture : public Evaluator {
 public:
  // What became of a function. Each reason of a function is told once, of the first kMostEvents.
  struct Event {
    std::string function;
    int line;             // of the break; else the function's first
    std::string reason;   // empty: captured whole
    bool is_cut = false;  // captured up to there, and again from there on
    std::vector<std::string> guards;
    std::string file = {}, advice = {};  // of a break: what to do
    int id = 0;                          // of a break's reason
  };

  // With `is_whole`, a function that is not one graph raises RuntimeError when it is called. `open`
  // is for backends that take graphs whose sizes are open; kNone for others.
  FrameCapture(const Gil&, PyBorrow backend, bool is_whole = false,
               OpenSizes::Policy open = OpenSizes::Policy::kNone);

  // All captures forget what they have made.
  static void forget_all();
  // Graphs that backends were given, of all captures.
  static int64_t graphs();

  Replacement replacement(const Gil&, const FrameView& frame) override;
  void left_alone(const FrameView& frame, std::string_view reason) noexcept override;

  std::vector<Event> events() const { return events_; }

 private:
  static constexpr size_t kMostEvents = 10'000;

  void tell(Event event);
  Replacement capture(const Gil&, const FrameView& frame);
  Replacement attempt(const Gil&, const FrameView& frame, OpenSizes* open, Symbols* symbols);
  // Captures anew, in `t`, up to that step.
  void cut(const Gil&, const FrameView& frame, int steps, const OpenSizes& open, Symbols* symbols,
           std::optional<Translator>* t, FrameVariant* variant, Event* event);
  bool is_library_code(CodeView code) const;
  bool may_cut(const Gil&, const FrameView& frame, const Translator& t, BreakReason reason) const;

  // Of this capture among all, in the records of code objects; another one after forget_all().
  uint64_t id();

  uint64_t id_, generation_;
  PyRef backend_;
  bool is_whole_;
  OpenSizes::Policy open_;
  std::string library_;           // the folder of torch, whose own frames are its business
  std::string standard_library_;  // that of CPython's
  std::vector<Event> events_;
  aten_bridge::HashSet<std::string> told_;
};

}  // namespace torchdyn
