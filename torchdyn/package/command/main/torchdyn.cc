// torchdyn COMMAND ...: see command.h.
#include <iostream>

#include "torchdyn/package/command/command.h"

int main(int argc, char** argv) {
  return torchdyn::run_command({argv + 1, argv + argc}, std::cout, std::cerr);
}
