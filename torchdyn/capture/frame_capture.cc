#include "torchdyn/capture/frame_capture.h"

#include <algorithm>
#include <atomic>
#include <optional>

#include "absl/container/inlined_vector.h"

#include "aten_bridge/base/str_cat.h"
#include "torchdyn/capture/code_writer.h"
#include "torchdyn/capture/codegen.h"
#include "torchdyn/capture/cut.h"
#include "torchdyn/capture/graph_break.h"
#include "torchdyn/capture/translator.h"
#include "torchdyn/cpython/code_cache.h"
#include "torchdyn/cpython/objects.h"
#include "torchdyn/cpython/tensor_abi.h"
#include "torchdyn/variables/kinds.h"

namespace torchdyn {
namespace {

using aten_bridge::str_cat;

std::atomic<uint64_t> generation{0};
std::atomic<int64_t> graph_count{0};

constexpr size_t kMostVariants = 8;  // of one function, for one capture

}  // namespace

// One captured form of a frame.
struct FrameVariant {
  uint64_t capture;
  Guards guards;
  std::vector<int> tensors;  // places of the guards
  std::optional<TensorGuards> tensor_guards;
  PyRef code = {};  // null: this function runs as it is, whatever comes
  bool are_inputs_given = false;

  // None: the guards do not hold.
  std::optional<Replacement> serve(const FrameView& frame) {
    if (!code) return Replacement();
    if (!guards.check(frame)) return std::nullopt;
    absl::InlinedVector<PyBorrow, 16> values;
    values.reserve(tensors.size());
    for (const int place : tensors) values.push_back(guards.value(place));
    if (!tensor_guards->check(values)) return std::nullopt;
    return with_inputs(frame, values);
  }

  Replacement with_inputs(const FrameView& frame, std::span<const PyBorrow> inputs) const {
    Replacement other{PyRef::to(code)};
    if (!are_inputs_given) return other;
    other.given = tuple_of_borrowed(inputs);
    other.given_slot = CodeWriter::given_slot(frame.code());
    return other;
  }
};

namespace {

struct FrameRecord : CodeRecord {
  std::vector<FrameVariant> variants;
  std::shared_ptr<Resumes> resumes;  // of a function: where its frames go on
  std::weak_ptr<Resumes> resumed;    // of a resume function: those of the function that was cut
  int number = -1;                   // among them
};

FrameRecord& record_of(const Gil& gil, CodeView code) {
  if (auto* known = static_cast<FrameRecord*>(code_record(gil, code))) return *known;
  auto made = std::make_unique<FrameRecord>();
  FrameRecord& record = *made;
  set_code_record(gil, code, std::move(made));
  return record;
}

// The tensors in `value` that the frame made, each once.
void collect(const VarRef& value, aten_bridge::HashSet<const Variable*>* seen,
             std::vector<VarRef>* results) {
  if (value->source() || !seen->insert(value.get()).second) return;
  for (const VarRef& part : value->parts()) collect(part, seen, results);
  if (dynamic_cast<const TensorVariable*>(value.get())) results->push_back(value);
}

std::vector<VarRef> tensors_in(const std::vector<VarRef>& values) {
  aten_bridge::HashSet<const Variable*> seen;
  std::vector<VarRef> results;
  for (const VarRef& value : values) collect(value, &seen, &results);
  return results;
}

// Null: there is nothing to call.
PyRef compile(const Gil& gil, PyBorrow backend, OutputGraph& graph,
              const std::vector<VarRef>& results) {
  if (graph.calls() == 0) return PyRef();
  ++graph_count;
  std::vector<PyRef> nodes, examples;
  for (const VarRef& result : results) nodes.push_back(result->as_node(gil));
  for (const OutputGraph::Input& input : graph.inputs())
    examples.push_back(PyRef::to(input.tensor));
  std::vector<PyRef> args;
  args.push_back(graph.finish(gil, tuple_of(nodes)));
  args.push_back(owned(PySequence_List(tuple_of(examples).get())));
  return called_unseen(gil, call(gil, backend, tuple_of(args)));
}

// With the guards of what `t` has seen, and no code yet.
FrameVariant guarded(uint64_t id, Translator& t) {
  t.leave_modes();
  t.effects().guard_aliases(&t.guards());
  FrameVariant variant{.capture = id, .guards = std::move(t.guards())};
  variant.are_inputs_given = t.graph().are_inputs_given();
  std::vector<PyBorrow> tensors;
  std::vector<std::string> names;
  for (const OutputGraph::Input& input : t.graph().inputs()) {
    variant.tensors.push_back(variant.guards.place(input.source));
    tensors.push_back(input.tensor);
    names.push_back(input.source->text());
  }
  variant.guards.finish();
  variant.tensor_guards = TensorGuards::record(tensors, names);
  return variant;
}

FrameVariant whole_variant(const Gil& gil, uint64_t id, PyBorrow backend, Translator& t) {
  if (const char* mode = active_mode()) break_graph(BreakReason::kMode, mode);
  const VarRef result = t.run();
  if (t.graph().calls() == 0) break_graph(BreakReason::kNothing, "");
  FrameVariant variant = guarded(id, t);
  std::vector<VarRef> values = t.effects().values();
  values.push_back(result);
  const std::vector<VarRef> results = tensors_in(values);
  const PyRef compiled = compile(gil, backend, t.graph(), results);
  variant.code = returning_code(gil, t, compiled, results, result);
  return variant;
}

CodeOrigin origin_of(const Gil& gil, CodeView code) {
  FrameRecord& record = record_of(gil, code);
  if (record.number < 0) {
    if (!record.resumes) record.resumes = std::make_shared<Resumes>(gil, code);
    return {record.resumes, false, 0, 0};
  }
  auto resumes = record.resumed.lock();
  if (!resumes) break_graph(BreakReason::kRebuild, "a function that is there no more");
  const int prefix = resumes->prefix(record.number), more = resumes->more_locals(record.number);
  return {std::move(resumes), true, prefix, more};
}

// Code objects of resume functions say whose they are.
void tell_resumed(const Gil& gil, const std::shared_ptr<Resumes>& resumes) {
  for (size_t number = 0; number < resumes->codes.size(); ++number) {
    FrameRecord& record = record_of(gil, CodeView::of(resumes->codes[number]));
    record.resumed = resumes;
    record.number = static_cast<int>(number);
  }
}

// `t` has not run yet.
FrameVariant cut_variant(const Gil& gil, uint64_t id, CodeView code, PyBorrow backend,
                         Translator& t, int steps) {
  const CodeOrigin origin = origin_of(gil, code);
  t.run_to(steps);
  FrameVariant variant = guarded(id, t);
  std::vector<VarRef> values = t.effects().values();
  for (VarRef& value : needed_values(gil, t, origin)) values.push_back(std::move(value));
  const std::vector<VarRef> results = tensors_in(values);
  const PyRef compiled = compile(gil, backend, t.graph(), results);
  variant.code = cut_code(gil, t, compiled, results, origin);
  tell_resumed(gil, origin.resumes);
  return variant;
}

std::vector<std::string> described(const FrameVariant& variant) {
  std::vector<std::string> lines = variant.guards.describe();
  for (std::string& line : variant.tensor_guards->describe()) lines.push_back(std::move(line));
  return lines;
}

uint64_t next_id() {
  static std::atomic<uint64_t> next{1};
  return next++;
}

// ".../torch/__init__.py" to ".../torch/".
std::string folder_of(const Gil& gil, const char* package) {
  const std::string file = text_of(import_attribute(gil, package, "__file__"));
  return file.substr(0, file.rfind('/') + 1);
}

}  // namespace

FrameCapture::FrameCapture(const Gil& gil, PyBorrow backend, bool is_whole)
    : id_(next_id()),
      generation_(generation),
      backend_(PyRef::to(backend)),
      is_whole_(is_whole),
      library_(folder_of(gil, "torch")),
      standard_library_(folder_of(gil, "functools")) {}

void FrameCapture::forget_all() { ++generation; }

int64_t FrameCapture::graphs() { return graph_count; }

uint64_t FrameCapture::id() {
  if (const uint64_t now = generation; now != std::exchange(generation_, now)) id_ = next_id();
  return id_;
}

// Modules of torch.nn are programs like the user's; what calls them is not.
bool FrameCapture::is_library_code(CodeView code) const {
  const std::string_view file = utf8(PyBorrow(code.get()->co_filename));
  if (file.starts_with(standard_library_))
    return file.find("/site-packages/") == std::string_view::npos;
  if (!file.starts_with(library_)) return false;
  const std::string_view inside = file.substr(library_.size());
  return !inside.starts_with("nn/modules/") || inside == "nn/modules/module.py";
}

Replacement FrameCapture::replacement(const Gil& gil, const FrameView& frame) {
  if (is_library_code(frame.code())) return {};
  size_t mine = 0;
  const uint64_t id = this->id();
  for (FrameVariant& variant : record_of(gil, frame.code()).variants) {
    if (variant.capture != id) continue;
    if (auto other = variant.serve(frame)) return *std::move(other);
    ++mine;
  }
  if (mine >= kMostVariants) {
    left_alone(frame, str_cat("captured ", mine, " times already, for other values"));
    return {};
  }
  return capture(gil, frame);
}

namespace {

constexpr int kDeep = 3;  // containers in containers

bool concerns_tensors(PyBorrow object, PyBorrow module_type, int depth = 0) {
  if (!object || depth > kDeep) return false;
  auto* const type = reinterpret_cast<PyTypeObject*>(module_type.get());
  if (is_tensor(object) || PyType_IsSubtype(Py_TYPE(object.get()), type)) return true;
  if (PyTuple_CheckExact(object.get()) || PyList_CheckExact(object.get()))
    for (const PyBorrow item : items_of(object))
      if (concerns_tensors(item, module_type, depth + 1)) return true;
  PyObject *key = nullptr, *value = nullptr;
  if (PyDict_CheckExact(object.get()))
    for (Py_ssize_t at = 0; PyDict_Next(object.get(), &at, &key, &value) != 0;)
      if (concerns_tensors(PyBorrow(value), module_type, depth + 1)) return true;
  return false;
}

// Reasons that hold for the frame, wherever it is cut.
bool holds_everywhere(BreakReason reason) {
  return reason == BreakReason::kMode || reason == BreakReason::kNothing ||
         reason == BreakReason::kLength || reason == BreakReason::kRebuild;
}

}  // namespace

// A frame that has nothing to do with tensors is not worth it.
bool FrameCapture::may_cut(const Gil& gil, const FrameView& frame, const Translator& t,
                           BreakReason reason) const {
  if (holds_everywhere(reason) || t.steps() == 0) return false;
  if (t.inputs().size() > 0) return true;
  const PyRef module_type = import_attribute(gil, "torch.nn", "Module");
  for (int slot = 0; slot < frame.code().arguments(); ++slot)
    if (concerns_tensors(frame.local(slot), module_type)) return true;
  return false;
}

namespace {

std::vector<PyBorrow> inputs_of(const OutputGraph& graph) {
  std::vector<PyBorrow> tensors;
  for (const OutputGraph::Input& input : graph.inputs()) tensors.push_back(input.tensor);
  return tensors;
}

std::string whole_error(const FrameCapture::Event& event) {
  return str_cat(event.function, " is not one graph, as fullgraph demands: ", event.reason,
                 "\n  at ", event.file, ":", event.line, "\n  what to do: ", event.advice);
}

}  // namespace

Replacement FrameCapture::capture(const Gil& gil, const FrameView& frame) {
  const CodeView code = frame.code();
  FrameVariant variant{.capture = id_};
  Event event{std::string(code.name()), code.first_line(), "", false, {}};
  event.file = utf8(PyBorrow(code.get()->co_filename));
  std::optional<Translator> t;
  try {
    t.emplace(gil, frame);
    variant = whole_variant(gil, id_, backend_, *t);
    event.guards = described(variant);
  } catch (const GraphBreak& graph_break) {
    event.reason = graph_break.what();
    event.id = graph_break.id();
    event.advice = graph_break.advice();
    event.line = t->line();
    if (const std::string place = t->callee_place(); !place.empty())
      event.reason += str_cat(" (in ", place, ")");
    const bool concerns = may_cut(gil, frame, *t, graph_break.reason());
    if (concerns && is_whole_) {
      PyRef raising = raising_code(gil, code, whole_error(event));
      tell(std::move(event));
      return {std::move(raising)};
    }
    if (concerns) cut(gil, frame, t->steps(), &t, &variant, &event);
  } catch (const PythonError&) {
    if (stops_the_program()) throw;
    event.reason = take_exception_text(gil);
  }
  tell(std::move(event));
  Replacement other;
  if (variant.code) other = variant.with_inputs(frame, inputs_of(t->graph()));
  record_of(gil, code).variants.push_back(std::move(variant));
  return other;
}

void FrameCapture::cut(const Gil& gil, const FrameView& frame, int steps,
                       std::optional<Translator>* t, FrameVariant* variant, Event* event) {
  try {
    t->reset();
    t->emplace(gil, frame);
    *variant = cut_variant(gil, id_, frame.code(), backend_, **t, steps);
    event->guards = described(*variant);
    event->is_cut = true;
  } catch (const GraphBreak& graph_break) {
    event->reason += str_cat("; ", graph_break.what());
  } catch (const PythonError&) {
    if (stops_the_program()) throw;
    event->reason += str_cat("; ", take_exception_text(gil));
  }
}

void FrameCapture::left_alone(const FrameView& frame, std::string_view reason) noexcept {
  tell({std::string(frame.code().name()),
        frame.code().first_line(),
        std::string(reason),
        false,
        {}});
}

void FrameCapture::tell(Event event) {
  if (events_.size() >= kMostEvents) return;
  const bool is_new = told_.insert(str_cat(event.function, ": ", event.reason)).second;
  if (is_new || event.reason.empty()) events_.push_back(std::move(event));
}

}  // namespace torchdyn
