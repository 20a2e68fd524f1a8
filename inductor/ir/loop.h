// LoopProgram: a graph as loops over buffers. Lowering makes it, passes and the scheduler rewrite
// it, emitters spell it.
//
//   loops 1 softmax_row(arg0: f32[8, 128]) -> buf2 {
//     buf0: f32[8]
//     buf2: f32[8, 128]
//     for i0 < 8
//       for i1 < 128 reduction
//         buf0[i0] max= arg0[128*i0 + i1]
//     ...
//   }
//
// Law
//  - Index arithmetic is exact integers. An index is in elements of its buffer's dtype, counted
//    from the buffer's first element, strides already applied; it is inside the buffer wherever the
//    statement is executed.
//  - Scalar arithmetic: the law of expr.h.
//  - Each element of a buffer is written by one iteration of one statement, before any statement
//    that reads it. Several statements may write disjoint parts (concatenation). Scatter adds to a
//    buffer that was written before.
//  - Two buffers never overlap. Inputs are never written.
//  - Iterations of a loop that is not a reduction are independent of each other in what they write.
//    Reduce and Scatter alone carry a value between iterations, of the kReduction loops around
//    them. A Reduce reduces over those of them that its index does not mention (the scheduler
//    merges loops of both kinds). It starts from its operator's identity where the outermost one
//    starts and is complete where that one ends. Order within a sum is free in the default numerics
//    mode, but the same on every run and any number of threads. What follows a Reduce: follow.h.
//  - Reduce and Scatter accumulate in a dtype that arithmetic is done in: not float16 or bfloat16.
//  - Lowering emits perfect nests: loops around exactly one leaf. Only the scheduler makes others,
//    inside a Kernel.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "aten_bridge/graph/graph.h"
#include "inductor/ir/expr.h"

namespace inductor {

using aten_bridge::Device;
using aten_bridge::TensorType;

// kMax and kMin keep NaN, as ATen does; any and all are kMax and kMin over bool.
enum class ReduceOp : uint8_t { kSum, kProd, kMax, kMin };

enum class BufferRole : uint8_t {
  kInput,      // given by the caller
  kTemporary,  // made here, dead after its last use
  kOutput,     // made here, returned: owns its storage
  kLocal,      // inside one kernel: private to an iteration of its parallel loops
};

struct Buffer {
  std::string name;  // "arg0", "buf3"
  TensorType type;   // the layout in memory: its strides are what indices are computed with
  BufferRole role = BufferRole::kTemporary;
};

// A strided view of a buffer: how graph values that are views are known below the graph.
struct TensorRef {
  int buffer = -1;
  std::vector<SymExpr> sizes, strides;
  SymExpr offset;
  bool operator==(const TensorRef&) const = default;
};

struct Loop;
struct Kernel;

struct Store {  // buffer[index] = value
  int buffer;
  SymExpr index;
  Expr value;
};
struct Reduce {  // buffer[index] op= value, over the kReduction loops around it
  int buffer;
  SymExpr index;
  ReduceOp op;
  Expr value;
};
struct Scatter {  // buffer[index] op= value where index mentions t0, ...: values read at run time
  int buffer;
  SymExpr index;
  std::vector<Expr> symbol_values;
  ReduceOp op;
  Expr value;
};
struct ExternCall {  // an ATen operator, run by the tensor library
  std::string op;
  std::vector<std::pair<std::string, aten_bridge::ArgumentOf<TensorRef>>> args;
  std::vector<std::optional<int>> outputs;  // buffers; none: undefined
};

using Stmt = std::variant<Loop, Store, Reduce, Scatter, ExternCall, Kernel>;

enum class LoopKind : uint8_t { kSerial, kReduction };

struct Loop {
  Symbol var;  // 'i'
  SymExpr extent;
  LoopKind kind = LoopKind::kSerial;
  // Chosen by the scheduler; the law above says what is allowed.
  bool parallel = false;  // split over cores: a kernel's outermost loops; see Kernel::groups too
  bool vector = false;    // innermost: iterations are divided among lanes
  std::vector<Stmt> body;
};

struct Kernel {  // one launch; made by the scheduler
  std::string name;
  std::vector<Stmt> body;
  // Operators of the user's program fused into it, in order, each once.
  std::vector<std::string> origins;
  // On a GPU, a group of `lanes` threads runs an iteration of the parallel loops together: vector
  // loops are divided among them, all else is done by each. A block holds `groups` of them, which
  // take iterations of their own. A parallel loop of kind kReduction, right inside of the serial
  // ones, is divided among the groups of one block, which combine what they reduced (it need not
  // reduce anything); statements behind it are for the group that has the results. Around a
  // Scatter it is divided among blocks: that of the first iteration that reaches a place adds all
  // of them, in an order that does not change. 0 lanes: a kernel of the CPU, where lanes are vector
  // registers'.
  int lanes = 0, groups = 1;
};

struct LoopProgram {
  std::string name;
  ExprPool pool;
  std::vector<Buffer> buffers;
  std::vector<int> inputs;                        // buffers, in graph order
  std::vector<std::optional<TensorRef>> outputs;  // in graph order
  std::vector<Stmt> body;                         // in execution order
  // Of each statement in body: what it stems from in the user's program, "aten::add, aten::mul".
  std::vector<std::string> origins;
  int next_var = 0;  // a fresh loop variable: {'i', next_var++}
};

}  // namespace inductor
