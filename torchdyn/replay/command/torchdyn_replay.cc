// torchdyn_replay FOLDER [--shrink]: see replay.h. The exit status is 1 where the fault shows.
#include <exception>
#include <fstream>
#include <iostream>
#include <string>

#include "torchdyn/replay/replay.h"

int main(int argc, char** argv) {
  const bool shrink = argc == 3 && std::string(argv[2]) == "--shrink";
  if (argc < 2 || (argc == 3 && !shrink) || argc > 3) {
    std::cerr << "torchdyn_replay FOLDER [--shrink]\n"
                 "Runs the graph of a repro compiled, beside eager; FOLDER may be a graph's file.\n"
                 "--shrink looks for the smallest graph that fails alike and prints it.\n";
    return 2;
  }
  try {
    const torchdyn::Replayed replayed = torchdyn::replay(argv[1], shrink, std::cerr);
    if (replayed.problem.empty()) {
      std::cout << "compiled, it does what it does in eager\n";
      return 0;
    }
    std::cout << "# " << replayed.problem << "\n" << replayed.smallest;
    return 1;
  } catch (const std::exception& error) {
    std::cerr << "torchdyn_replay: " << error.what() << "\n";
    return 2;
  }
}
