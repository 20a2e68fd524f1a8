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
#include "torchdyn/capture/symbols.h"
#include "torchdyn/capture/translator.h"
#include "torchdyn/cpython/code_cache.h"
#include "torchdyn/cpython/objects.h"
#include "torchdyn/cpython/tensor_abi.h"
#include "torchdyn/variables/kinds.h"
#include "torchdyn/variables/symbol.h"

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
  std::vector<int> inputs;                    // places of the guards
  std::vector<bool> are_numbers;              // of the inputs
  std::optional<TensorGuards> tensor_guards;  // of the others
  std::optional<SymbolGuards> sizes;          // none: none of them is open
  PyRef code = {};                            // null: this function runs as it is, whatever comes
  bool are_inputs_given = false;

  // None: the guards do not hold.
  std::optional<Replacement> serve(const FrameView& frame) {
    if (!code) return Replacement();
    if (!guards.check(frame)) return std::nullopt;
    absl::InlinedVector<PyBorrow, 16> values;
    values.reserve(inputs.size());
    for (const int place : inputs) values.push_back(guards.value(place));
    if (!(sizes ? are_tensors_and_sizes(values) : tensor_guards->check(values)))
      return std::nullopt;
    return with_inputs(frame, values);
  }

  bool are_tensors_and_sizes(std::span<const PyBorrow> values) const {
    absl::InlinedVector<PyBorrow, 16> tensors;
    absl::InlinedVector<int64_t, 16> numbers(values.size());
    for (size_t n = 0; n < values.size(); ++n) {
      int overflow = 0;
      if (!are_numbers[n]) {
        tensors.push_back(values[n]);
      } else if (numbers[n] = PyLong_AsLongLongAndOverflow(values[n].get(), &overflow); overflow) {
        return false;
      }
    }
    return tensor_guards->check(tensors) && sizes->check([&](size_t n) -> SymbolGuards::Given {
      if (are_numbers[n]) return {{&numbers[n], 1}, {}};
      const TensorGeometry geometry = geometry_of(values[n]);
      return {geometry.sizes, geometry.strides};
    });
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
  aten_bridge::HashMap<uint64_t, OpenSizes> open;  // by capture
  std::shared_ptr<Resumes> resumes;                // of a function: where its frames go on
  std::weak_ptr<Resumes> resumed;  // of a resume function: those of the function that was cut
  int number = -1;                 // among them
};

FrameRecord& record_of(const Gil& gil, CodeView code) {
  if (auto* known = static_cast<FrameRecord*>(code_record(gil, code))) return *known;
  auto made = std::make_unique<FrameRecord>();
  FrameRecord& record = *made;
  set_code_record(gil, code, std::move(made));
  return record;
}

// The tensors, and the numbers that sizes tell, in `value` that the frame made, each once. Backends
// give tensors and ints alone.
void collect(const VarRef& value, aten_bridge::HashSet<const Variable*>* seen,
             std::vector<VarRef>* results) {
  if (value->source() || !seen->insert(value.get()).second) return;
  for (const VarRef& part : value->parts()) collect(part, seen, results);
  const auto* const number = dynamic_cast<const SymbolVariable*>(value.get());
  if (number && number->type() != &PyLong_Type) throw NeedsFixedSizes();
  if (number || dynamic_cast<const TensorVariable*>(value.get())) results->push_back(value);
}

std::vector<VarRef> results_in(const std::vector<VarRef>& values) {
  aten_bridge::HashSet<const Variable*> seen;
  std::vector<VarRef> results;
  for (const VarRef& value : values) collect(value, &seen, &results);
  return results;
}

// Null: there is nothing to call.
PyRef compile(const Gil& gil, PyBorrow backend, OutputGraph& graph,
              const std::vector<VarRef>& results, bool has_symbols) {
  if (graph.calls() == 0 && results.empty()) return PyRef();
  ++graph_count;
  if (has_symbols) graph.describe_inputs(gil);
  std::vector<PyRef> nodes, examples;
  for (const VarRef& result : results) nodes.push_back(result->as_node(gil));
  for (const OutputGraph::Input& input : graph.inputs()) examples.push_back(PyRef::to(input.value));
  std::vector<PyRef> args;
  args.push_back(graph.finish(gil, tuple_of(nodes)));
  args.push_back(owned(PySequence_List(tuple_of(examples).get())));
  return called_unseen(gil, call(gil, backend, tuple_of(args)));
}

std::optional<SymbolGuards> symbol_guards(const Gil& gil, Translator& t) {
  if (!t.symbols()) return std::nullopt;
  std::vector<PyBorrow> likes;
  for (const OutputGraph::Input& input : t.inputs()) likes.push_back(input.like);
  auto guards = t.symbols()->guards(gil, likes);
  if (!guards) throw NeedsFixedSizes();
  return guards;
}

// With the guards of what `t` has seen, and no code yet.
FrameVariant guarded(const Gil& gil, uint64_t id, Translator& t) {
  t.leave_modes();
  t.effects().guard_aliases(&t.guards());
  FrameVariant variant{.capture = id, .guards = std::move(t.guards())};
  variant.are_inputs_given = t.graph().are_inputs_given();
  variant.sizes = symbol_guards(gil, t);
  std::vector<PyBorrow> tensors;
  std::vector<std::string> names;
  std::vector<bool> have_any_sizes;
  for (size_t n = 0; n < t.inputs().size(); ++n) {
    const OutputGraph::Input& input = t.inputs()[n];
    variant.inputs.push_back(variant.guards.place(input.source));
    variant.are_numbers.push_back(!is_tensor(input.value));
    if (variant.are_numbers.back()) continue;
    tensors.push_back(input.value);
    names.push_back(input.source->text());
    if (variant.sizes) have_any_sizes.push_back(variant.sizes->inputs[n].has_value());
  }
  variant.guards.finish();
  variant.tensor_guards = TensorGuards::record(tensors, names, have_any_sizes);
  return variant;
}

FrameVariant whole_variant(const Gil& gil, uint64_t id, PyBorrow backend, Translator& t) {
  if (const char* mode = active_mode()) break_graph(BreakReason::kMode, mode);
  const VarRef result = t.run();
  if (t.graph().calls() == 0) break_graph(BreakReason::kNothing, "");
  FrameVariant variant = guarded(gil, id, t);
  std::vector<VarRef> values = t.effects().values();
  values.push_back(result);
  const std::vector<VarRef> results = results_in(values);
  const PyRef compiled = compile(gil, backend, t.graph(), results, t.symbols() != nullptr);
  variant.sizes = symbol_guards(gil, t);  // with what the backend has asked
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
  FrameVariant variant = guarded(gil, id, t);
  std::vector<VarRef> values = t.effects().values();
  for (VarRef& value : needed_values(gil, t, origin)) values.push_back(std::move(value));
  const std::vector<VarRef> results = results_in(values);
  const PyRef compiled = compile(gil, backend, t.graph(), results, t.symbols() != nullptr);
  variant.sizes = symbol_guards(gil, t);
  variant.code = cut_code(gil, t, compiled, results, origin);
  tell_resumed(gil, origin.resumes);
  return variant;
}

std::vector<std::string> described(const FrameVariant& variant, const Translator& t) {
  std::vector<std::string> names;
  for (const OutputGraph::Input& input : t.inputs()) names.push_back(input.source->text());
  std::vector<std::string> lines = variant.guards.describe();
  for (std::string& line : variant.tensor_guards->describe()) lines.push_back(std::move(line));
  if (variant.sizes)
    for (std::string& line : variant.sizes->describe(names)) lines.push_back(std::move(line));
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

FrameCapture::FrameCapture(const Gil& gil, PyBorrow backend, bool is_whole, OpenSizes::Policy open)
    : id_(next_id()),
      generation_(generation),
      backend_(PyRef::to(backend)),
      is_whole_(is_whole),
      open_(open),
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
  std::vector<PyBorrow> values;
  for (const OutputGraph::Input& input : graph.inputs()) values.push_back(input.value);
  return values;
}

std::string whole_error(const FrameCapture::Event& event) {
  return str_cat(event.function, " is not one graph, as fullgraph demands: ", event.reason,
                 "\n  at ", event.file, ":", event.line, "\n  what to do: ", event.advice);
}

}  // namespace

namespace {

// Whether a capture without symbols does, where one with some breaks.
bool comes_further(const Gil& gil, const FrameView& frame, const GraphBreak& graph_break,
                   int steps) {
  if (graph_break.reason() == BreakReason::kNothing) return false;
  const OpenSizes none(OpenSizes::Policy::kNone);
  Translator t(gil, frame, none, nullptr);
  try {
    (void)t.run();
    return true;
  } catch (const GraphBreak&) {
    return t.steps() > steps;
  } catch (const PythonError&) {
    if (stops_the_program()) throw;
    (void)take_exception_text(gil);
    return false;
  }
}

}  // namespace

// Without symbols, as long as nothing is open.
Replacement FrameCapture::capture(const Gil& gil, const FrameView& frame) {
  OpenSizes open = record_of(gil, frame.code()).open.try_emplace(id_, open_).first->second;
  std::optional<Symbols> symbols;
  for (;;) {
    try {
      Replacement other = attempt(gil, frame, &open, symbols ? &*symbols : nullptr);
      record_of(gil, frame.code()).open.insert_or_assign(id_, std::move(open));
      return other;
    } catch (const NeedsSymbols&) {
      symbols.emplace(gil);
    } catch (const NeedsFixedSizes&) {
      open.close();
      symbols.reset();
    }
  }
}

Replacement FrameCapture::attempt(const Gil& gil, const FrameView& frame, OpenSizes* open,
                                  Symbols* symbols) {
  const CodeView code = frame.code();
  FrameVariant variant{.capture = id_};
  Event event{std::string(code.name()), code.first_line(), "", false, {}};
  event.file = utf8(PyBorrow(code.get()->co_filename));
  std::optional<Translator> t;
  try {
    t.emplace(gil, frame, *open, symbols);
    variant = whole_variant(gil, id_, backend_, *t);
    event.guards = described(variant, *t);
  } catch (const GraphBreak& graph_break) {
    if (symbols && comes_further(gil, frame, graph_break, t->steps())) throw NeedsFixedSizes();
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
    if (concerns) cut(gil, frame, t->steps(), *open, symbols, &t, &variant, &event);
  } catch (const PythonError&) {
    if (stops_the_program()) throw;
    event.reason = take_exception_text(gil);
  }
  tell(std::move(event));
  Replacement other;
  if (variant.code) {
    other = variant.with_inputs(frame, inputs_of(t->graph()));
    t->tell_sizes(open);
  }
  record_of(gil, code).variants.push_back(std::move(variant));
  return other;
}

void FrameCapture::cut(const Gil& gil, const FrameView& frame, int steps, const OpenSizes& open,
                       Symbols* symbols, std::optional<Translator>* t, FrameVariant* variant,
                       Event* event) {
  try {
    t->reset();
    if (symbols) *symbols = Symbols(gil);
    t->emplace(gil, frame, open, symbols);
    *variant = cut_variant(gil, id_, frame.code(), backend_, **t, steps);
    event->guards = described(*variant, **t);
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
