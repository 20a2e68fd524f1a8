// Runs what a repro holds again.
//   torchdyn::Replayed replayed = torchdyn::replay(folder, /*shrink=*/true, std::cerr);
//   replayed.problem;     // "runs in eager: internal error: ...", "result 0 3 of 64 are off: ..."
//   replayed.smallest;    // a graph as text, which replay() takes too
//
// As commands: torchdyn_replay FOLDER [--shrink], python3 -m torchdyn.replay FOLDER [--shrink].
#pragma once

#include <iosfwd>
#include <string>

namespace torchdyn {

struct Replayed {
  std::string problem;   // empty: compiled, the graph does what it does in eager
  std::string smallest;  // empty where nothing is wrong or it was not asked for
};

// Compiles the graph of `path` and runs it beside eager, on random tensors of the types that its
// inputs have, on their devices. `path` is the folder that a message named (its options are taken
// too), a graph.txt, or what shrinking gave. With `shrink`, looks for the smallest graph that fails
// in the same way, and says on `progress` how far it is: minutes for hundreds of operators.
// std::invalid_argument where the path holds no graph.
Replayed replay(const std::string& path, bool shrink, std::ostream& progress);

}  // namespace torchdyn
