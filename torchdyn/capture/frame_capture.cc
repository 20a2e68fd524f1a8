#include "torchdyn/capture/frame_capture.h"

#include <algorithm>
#include <atomic>
#include <optional>

#include "absl/container/inlined_vector.h"

#include "aten_bridge/base/str_cat.h"
#include "torchdyn/capture/codegen.h"
#include "torchdyn/capture/graph_break.h"
#include "torchdyn/capture/translator.h"
#include "torchdyn/cpython/code_cache.h"
#include "torchdyn/cpython/objects.h"
#include "torchdyn/cpython/tensor_abi.h"
#include "torchdyn/variables/kinds.h"

namespace torchdyn {
namespace {

using aten_bridge::str_cat;

constexpr size_t kMostVariants = 8;  // of one function, for one capture

// One captured form of a frame.
struct FrameVariant {
  uint64_t capture;
  Guards guards;
  std::vector<SourceRef> tensors;
  std::optional<TensorGuards> tensor_guards;
  PyRef code;  // null: this function runs as it is, whatever comes

  bool serves(const FrameView& frame) const noexcept {
    if (!code) return true;
    if (!guards.check(frame)) return false;
    absl::InlinedVector<PyBorrow, 16> values;
    for (const SourceRef& source : tensors) values.push_back(source->read(frame));
    return tensor_guards->check(values);
  }
};

struct FrameRecord : CodeRecord {
  std::vector<FrameVariant> variants;
};

FrameRecord& record_of(const Gil& gil, CodeView code) {
  if (auto* known = static_cast<FrameRecord*>(code_record(gil, code))) return *known;
  auto made = std::make_unique<FrameRecord>();
  FrameRecord& record = *made;
  set_code_record(gil, code, std::move(made));
  return record;
}

// The tensors in `value` that the frame made, each once.
void collect(const VarRef& value, std::vector<VarRef>* results) {
  if (value->source()) return;
  if (const auto* items = value->items())
    for (const VarRef& item : *items) collect(item, results);
  if (const auto* const dict = dynamic_cast<const DictVariable*>(value.get()))
    for (const auto& [key, item] : dict->entries()) collect(item, results);
  const bool is_new = dynamic_cast<const TensorVariable*>(value.get()) &&
                      std::find(results->begin(), results->end(), value) == results->end();
  if (is_new) results->push_back(value);
}

PyRef compile(const Gil& gil, PyBorrow backend, OutputGraph& graph,
              const std::vector<VarRef>& results) {
  std::vector<PyRef> nodes, examples;
  for (const VarRef& result : results) nodes.push_back(result->as_node(gil));
  for (const OutputGraph::Input& input : graph.inputs())
    examples.push_back(PyRef::to(input.tensor));
  std::vector<PyRef> args;
  args.push_back(graph.finish(gil, tuple_of(nodes)));
  args.push_back(owned(PySequence_List(tuple_of(examples).get())));
  return called_unseen(gil, call(gil, backend, tuple_of(args)));
}

FrameVariant make_variant(const Gil& gil, uint64_t id, CodeView code, PyBorrow backend,
                          Translator& t) {
  if (const char* mode = active_mode()) break_graph(BreakReason::kMode, mode);
  const VarRef result = t.run();
  if (t.graph().calls() == 0) break_graph(BreakReason::kNothing, "");
  std::vector<VarRef> results;
  collect(result, &results);
  FrameVariant variant{.capture = id, .guards = std::move(t.guards())};
  variant.guards.sort();
  std::vector<PyBorrow> tensors;
  std::vector<std::string> names;
  for (const OutputGraph::Input& input : t.graph().inputs()) {
    variant.tensors.push_back(input.source);
    tensors.push_back(input.tensor);
    names.push_back(input.source->text());
  }
  variant.tensor_guards = TensorGuards::record(tensors, names);
  const PyRef compiled = compile(gil, backend, t.graph(), results);
  variant.code = replacement_code(gil, code, t.graph().inputs(), compiled, results, result);
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

FrameCapture::FrameCapture(const Gil& gil, PyBorrow backend)
    : id_(next_id()), backend_(PyRef::to(backend)), library_(folder_of(gil, "torch")) {}

// Modules of torch.nn are programs like the user's.
bool FrameCapture::is_library_code(CodeView code) const {
  const std::string_view file = utf8(PyBorrow(code.get()->co_filename));
  return file.starts_with(library_) && !file.substr(library_.size()).starts_with("nn/modules/");
}

PyRef FrameCapture::replacement(const Gil& gil, const FrameView& frame) {
  if (is_library_code(frame.code())) return PyRef();
  size_t mine = 0;
  for (const FrameVariant& variant : record_of(gil, frame.code()).variants) {
    if (variant.capture != id_) continue;
    if (variant.serves(frame)) return PyRef::to(variant.code);
    ++mine;
  }
  if (mine >= kMostVariants) return PyRef();
  return capture(gil, frame);
}

PyRef FrameCapture::capture(const Gil& gil, const FrameView& frame) {
  const CodeView code = frame.code();
  FrameVariant variant{.capture = id_};
  Event event{std::string(code.name()), code.first_line(), "", {}};
  std::optional<Translator> t;
  try {
    t.emplace(gil, frame);
    variant = make_variant(gil, id_, code, backend_, *t);
    event.guards = described(variant);
  } catch (const GraphBreak& graph_break) {
    event.reason = graph_break.what();
  } catch (const PythonError&) {
    if (stops_the_program()) throw;
    event.reason = take_exception_text(gil);
  }
  if (!event.reason.empty() && t) {
    event.line = t->line();
    if (const std::string place = t->callee_place(); !place.empty())
      event.reason += str_cat(" (in ", place, ")");
  }
  tell(std::move(event));
  PyRef replaced = PyRef::to(variant.code);
  record_of(gil, code).variants.push_back(std::move(variant));
  return replaced;
}

void FrameCapture::left_alone(const FrameView& frame, std::string_view reason) noexcept {
  tell({std::string(frame.code().name()), frame.code().first_line(), std::string(reason), {}});
}

void FrameCapture::tell(Event event) {
  if (events_.size() >= kMostEvents) return;
  const bool is_new = told_.insert(str_cat(event.function, ": ", event.reason)).second;
  if (is_new || event.reason.empty()) events_.push_back(std::move(event));
}

}  // namespace torchdyn
