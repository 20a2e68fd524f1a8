// One kernel as CUDA C++: how loops_cuda.cc, lanes_cuda.cc and reductions_cuda.cc share what they
// know while they write it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "aten_bridge/base/hash_map.h"
#include "aten_bridge/base/str_cat.h"
#include "inductor/emit/kernel_text.h"
#include "inductor/schedule/lane_map.h"

namespace inductor {

class CudaKernel : KernelText {
 public:
  CudaKernel(const LoopProgram& program, const Kernel& kernel);
  EmittedKernel emit();

 private:
  // A reduction's running value.
  struct Accumulator {
    enum class Where : uint8_t {
      kVariable,  // one value, of which each lane has a part when a vector loop is inside
      kRow,       // each lane has the elements that it walks over
      kMemory,    // the target itself
    };
    Where where;
    std::string name;
    bool in_lanes = false;  // lanes have parts of it
    // An extremum and its follower share one value of a pair's type; they say what of it is theirs.
    std::string pair;  // "exponentials", "first_max", "first_min"; empty: a value of its own
    bool follows = false;
    std::string before, after;  // of the text of the pair

    std::string part_of(const std::string& element) const {
      return aten_bridge::str_cat(before, element, after);
    }
  };

  // Grid
  std::string parameters() const;
  // The kernel's outermost loops that are divided among blocks and groups, outermost first.
  std::vector<const Loop*> grid_loops() const;
  std::string type_of_number(const SymExpr& count) const;
  // Both write what finds a thread's iteration, and return the number of blocks.
  SymExpr grid(const std::vector<const Loop*>& loops);
  SymExpr flat_grid(const std::vector<const Loop*>& loops);  // body included
  void decode(const std::vector<const Loop*>& loops, const std::vector<std::string>& names,
              const SymExpr& pieces, int width);

  // Bodies
  void block_body(std::span<const Stmt> stmts);
  void body(std::span<const Stmt> stmts);
  void declare_locals(std::span<const Stmt> stmts);
  // What other lanes wrote to memory is there before it is read.
  void synchronize_before(const Stmt& stmt);
  void uniform_leaf(const Stmt& leaf, Values& values);
  void loop(const Loop& l);
  void serial_loop(const Loop& l);

  // Sums by place
  // The body of a group that has one iteration of a loop around a Scatter.
  void add_by_place(const Loop& l);
  // "p0 == ids[q0] && ...": whether iteration `name` reaches the place of this group.
  std::string reaches(const Scatter& s, const Loop& l, const SymExpr& name);

  // Lanes
  void lane_loop(const Loop& l);
  // The statements of a vector loop over the elements that one lane takes at once.
  void lane_body(const Loop& l, int width, const Values::Named& hoisted);
  void lane_leaf(const Stmt& leaf, Values& values);
  void follow(const Stmt& leaf, const Accumulator& acc, Values& values);
  const LaneMap& map_of(const Loop& vector_loop) const;
  // Opens what walks over a lane's elements: `name` is the first of map.width at once.
  std::vector<Writer::Scope> walk(const LaneMap& map, const std::string& name);
  // How many elements lie before the first piece of a row that begins anywhere.
  void name_head(const LaneMap& map);
  // Opens what has an element of such a row's ends, one a lane.
  Writer::Scope open_ends(const LaneMap& map, const std::string& name, const std::string& lane);
  // Rows in registers are at this place while a vector loop is entered.
  void set_places(const Loop& l, const std::optional<SymExpr>& place);

  // Reductions
  void begin_reduction(const Loop& outermost, const Reduction& r);
  void reduce_in_memory(const Reduce& r, Values& values, const std::string& value);
  void end_reduction(const Loop& outermost, const Reduction& r);
  // Whether anything but what follows it in the same loop reads what a loop reduces.
  bool is_read_behind(const Loop& loop, int local) const;
  // The value of a reduction that is no row, once all lanes and groups have added to it.
  std::string total(const Loop& outermost, const Reduction& r, const Accumulator& acc);
  // One more element, or one of each lane: of an extremum and its follower.
  static std::string_view operation_of(const Accumulator& acc, ReduceOp op);  // "sum"
  std::string with(const Accumulator& acc, const std::string& name, const std::string& element,
                   const std::string& place) const;
  void store_row(const Reduction& r, const Accumulator& acc, bool of_all_groups);
  std::string across(ReduceOp op, const std::string& value) const;

  // Stands for the parameters until the body is written, which tells what lanes share.
  static constexpr std::string_view kParametersMark = "KERNEL_PARAMETERS";

  const std::string index_;  // the type of indices
  const LaneMaps maps_;
  std::string leader_;  // the condition under which a thread writes what all computed
  HashMap<const Reduce*, Accumulator> accumulators_;
  HashMap<const Stmt*, std::string> wide_stores_;  // to what becomes one vector store
  HashSet<int> dirty_;         // buffers in memory that lanes wrote since they met
  HashSet<int> shared_;        // buffers that one lane may write and another one read
  std::string scattered_row_;  // what the lanes of a group add up for one place
  int next_wide_ = 0;
};

}  // namespace inductor
