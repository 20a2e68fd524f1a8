#include "inductor/backend/loaded_library.h"

#include <link.h>

namespace inductor {
namespace {

struct Search {
  const std::function<bool(std::string_view)>& accept;
  std::string path;
};

int visit(dl_phdr_info* info, size_t, void* argument) {
  auto& search = *static_cast<Search*>(argument);
  const std::string_view path = info->dlpi_name;
  const size_t slash = path.rfind('/');
  if (slash == path.npos || !search.accept(path.substr(slash + 1))) return 0;
  search.path = path;
  return 1;
}

}  // namespace

std::string loaded_library(const std::function<bool(std::string_view file_name)>& accept) {
  Search search{accept, ""};
  dl_iterate_phdr(visit, &search);
  return search.path;
}

}  // namespace inductor
