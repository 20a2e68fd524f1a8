// A package behind HTTP: torchdyn_serve PACKAGE [--port N] [--threads N]
// Port 0 is any free one. Prints "PACKAGE on port N" when it listens.
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>

#include <dlpack/dlpack.h>
#include <httplib.h>

#include "bench/serve/tensor_file.h"
#include "torchdyn/c_api/torchdyn.h"

namespace serve {
namespace {

// What the C API says, as an exception.
void check(torchdyn_status status, char* error) {
  if (status == TORCHDYN_OK) return;
  const std::string reason = error ? error : "no reason";
  torchdyn_free_error(error);
  throw std::invalid_argument(reason);
}

class Package {
 public:
  explicit Package(const char* path) {
    char* error = nullptr;
    check(torchdyn_load(path, &package_, &error), error);
  }
  ~Package() { torchdyn_free(package_); }
  Package(const Package&) = delete;
  Package& operator=(const Package&) = delete;

  std::string manifest() const { return torchdyn_manifest(package_); }
  // Any number of threads may ask.
  std::string call(const std::string& method, const std::string& request) const;

 private:
  torchdyn_package* package_ = nullptr;
};

// Results, let go of in the end.
struct Results {
  explicit Results(size_t capacity) : tensors(capacity) {}
  ~Results() {
    for (size_t i = 0; i < count; ++i) tensors[i]->deleter(tensors[i]);
  }
  Results(const Results&) = delete;
  Results& operator=(const Results&) = delete;

  std::vector<DLManagedTensor*> tensors;
  size_t count = 0;
};

DLTensor view_of(const Tensor& tensor) {
  DLTensor view{};
  view.data = const_cast<char*>(tensor.bytes.data());
  view.device = {kDLCPU, 0};
  view.ndim = static_cast<int>(tensor.sizes.size());
  view.dtype = tensor.dtype;
  view.shape = const_cast<int64_t*>(tensor.sizes.data());
  return view;
}

// Element by element where the strides are not those of a row-major tensor.
void copy(const DLTensor& from, int d, const char* data, std::string& to) {
  const size_t item = from.dtype.bits / 8u;
  if (d == from.ndim) {
    to.append(data, item);
    return;
  }
  for (int64_t i = 0; i < from.shape[d]; ++i)
    copy(from, d + 1, data + i * from.strides[d] * static_cast<int64_t>(item), to);
}

std::string Package::call(const std::string& method, const std::string& request) const {
  const std::vector<Tensor> given = read_tensors(request);
  std::vector<std::string> aligned;  // a body's tensors may begin anywhere
  for (const Tensor& tensor : given) aligned.emplace_back(tensor.bytes);
  std::vector<DLTensor> views;
  std::vector<const void*> inputs;
  for (size_t i = 0; i < given.size(); ++i) {
    views.push_back(view_of(given[i]));
    views.back().data = aligned[i].data();
  }
  for (const DLTensor& view : views) inputs.push_back(&view);

  Results results(torchdyn_output_count(package_));
  char* error = nullptr;
  check(
      torchdyn_call_method(package_, method.c_str(), inputs.data(), inputs.size(),
                           results.tensors.data(), results.tensors.size(), &results.count, &error),
      error);
  std::vector<std::string> bytes(results.count);
  std::vector<Tensor> answer;
  for (size_t i = 0; i < results.count; ++i) {
    const DLTensor& t = results.tensors[i]->dl_tensor;
    copy(t, 0, static_cast<const char*>(t.data) + t.byte_offset, bytes[i]);
    answer.push_back(
        {"result" + std::to_string(i), t.dtype, {t.shape, t.shape + t.ndim}, bytes[i]});
  }
  return write_tensors(answer);
}

int run(const char* path, const std::map<std::string, int>& options) {
  const Package package(path);
  httplib::Server server;
  const int threads = options.at("--threads");
  server.new_task_queue = [threads] {
    return new httplib::ThreadPool(static_cast<size_t>(threads));
  };
  server.set_tcp_nodelay(true);
  server.set_keep_alive_max_count(1 << 30);
  server.Get("/manifest", [&](const httplib::Request&, httplib::Response& response) {
    response.set_content(package.manifest(), "application/json");
  });
  server.Post("/call(?:/(.+))?", [&](const httplib::Request& request, httplib::Response& response) {
    const std::string method = request.matches[1].matched ? request.matches[1].str() : "forward";
    try {
      response.set_content(package.call(method, request.body), "application/octet-stream");
    } catch (const std::exception& error) {
      response.status = 400;
      response.set_content(std::string(error.what()) + "\n", "text/plain");
    }
  });
  int port = options.at("--port");
  if (port == 0)
    port = server.bind_to_any_port("127.0.0.1");
  else if (!server.bind_to_port("127.0.0.1", port))
    port = -1;
  if (port < 0) throw std::runtime_error("cannot listen on this port");
  std::printf("%s on port %d\n", path, port);
  std::fflush(stdout);
  return server.listen_after_bind() ? 0 : 1;
}

}  // namespace
}  // namespace serve

int main(int argc, char** argv) {
  std::map<std::string, int> options = {{"--port", 8080}, {"--threads", 4}};
  bool proper = argc >= 2 && argc % 2 == 0;
  for (int i = 2; proper && i < argc; i += 2) {
    proper = options.count(argv[i]) != 0;
    options[argv[i]] = std::atoi(argv[i + 1]);
  }
  if (!proper || options["--threads"] < 1) {
    std::fprintf(stderr, "torchdyn_serve PACKAGE [--port N] [--threads N]\n");
    return 2;
  }
  try {
    return serve::run(argv[1], options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "torchdyn_serve: %s\n", error.what());
    return 1;
  }
}
