#include <algorithm>
#include <utility>

#include "aten_bridge/base/str_cat.h"
#include "inductor/emit/cpp_kernel.h"
#include "inductor/schedule/cost.h"

namespace inductor {

using aten_bridge::str_cat;

namespace {

constexpr int64_t kWorkPerTask = 32 * 1024;  // less is not worth a thread

}  // namespace

void CppKernel::parallel(const Loop& outer) {
  std::vector<const Loop*> loops{&outer};
  for (const Loop* l = &outer; l->body.size() == 1;) {
    l = std::get_if<Loop>(&l->body[0]);
    if (!l || !l->parallel) break;
    loops.push_back(l);
  }
  const std::string function = str_cat(kNameMark, "_part", next_part_++);
  Writer part;
  Writer* const before = std::exchange(writer_, &part);
  {
    auto scope = part.open(
        str_cat("static void ", function, "(void* argument, int64_t begin, int64_t end)"));
    part.line("void* const* buffers = ((const td_arguments*)argument)->buffers;");
    if (!arguments_.sizes.empty())
      part.line("const int64_t* sizes = ((const td_arguments*)argument)->sizes;");
    unpack_sizes();
    unpack_buffers();
    outer.vector ? parallel_blocks(outer) : parallel_range(loops);
  }
  functions_ += part.text() + "\n";
  writer_ = before;
  SymExpr count = 1;
  for (const Loop* l : loops) count = count * l->extent;
  const int64_t each = std::max<int64_t>(1, work(loops.back()->body));
  int64_t grain = std::max<int64_t>(1, kWorkPerTask / each);
  if (outer.vector) {
    count = floor_div(count + (block(outer) - 1), block(outer));
    grain = 1;
  }
  writer_->line(str_cat("context->parallel_for(", names_.index(count), ", ", grain, ", ", function,
                        ", &arguments);"));
}

int64_t CppKernel::block(const Loop& l) {
  int64_t size = 64;
  while (size * work(l.body) < kWorkPerTask) size *= 2;
  return size;
}

void CppKernel::parallel_blocks(const Loop& l) {
  auto scope = writer_->open(for_head("int64_t", "n0", "begin", "end", "1"));
  innermost_loop(l, block_of(vector_shape(program_, l), var('n', 0), block(l)));
}

void CppKernel::parallel_range(const std::vector<const Loop*>& loops) {
  const bool flat = loops.size() == 1;
  std::vector<std::string> names;
  for (const Loop* l : loops) names.push_back(enter(*l));
  auto scope = writer_->open(for_head("int64_t", flat ? names[0] : "n", "begin", "end", "1"));
  std::string rest = "n";
  for (size_t k = loops.size(); !flat && k-- > 0;) {
    const std::string extent = str_cat("(", names_.index(loops[k]->extent), ")");
    writer_->line(
        str_cat("const int64_t ", names[k], " = ", rest, k > 0 ? str_cat(" % ", extent) : "", ";"));
    rest = str_cat("(", rest, " / ", extent, ")");
  }
  body(loops.back()->body);
  for (size_t k = loops.size(); k-- > 0;) leave(*loops[k]);
}

}  // namespace inductor
