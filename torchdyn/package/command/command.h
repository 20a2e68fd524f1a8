// The command line over packages: torchdyn inspect model.td --json
//   return run_command({"inspect", "model.td"}, std::cout, std::cerr);
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace torchdyn {

// The exit status: 0; 1 where the answer is no (damaged, different, not run); 2 for what is no
// command.
int run_command(const std::vector<std::string>& words, std::ostream& out, std::ostream& err);

}  // namespace torchdyn
