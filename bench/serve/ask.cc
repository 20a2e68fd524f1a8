// Question: how long does a request wait, under load?
//   torchdyn_ask HOST PORT INPUTS [--clients N] [--requests N] [--outputs FILE]
// Each client keeps one connection and asks the same; every answer must be the first one's bytes.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <httplib.h>

namespace {

using Clock = std::chrono::steady_clock;

struct Load {
  std::string host, body, first;
  int port = 0, clients = 4, requests = 1000;  // requests of all clients
};

// Milliseconds of each request of one client; empty where an answer was another one.
std::vector<double> ask(const Load& load, int requests) {
  httplib::Client client(load.host, load.port);
  client.set_keep_alive(true);
  client.set_tcp_nodelay(true);
  client.set_read_timeout(600);
  std::vector<double> times;
  for (int i = 0; i < requests; ++i) {
    const auto start = Clock::now();
    const auto answer = client.Post("/call", load.body, "application/octet-stream");
    times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
    if (!answer || answer->status != 200 || answer->body != load.first) return {};
  }
  return times;
}

int run(const Load& load) {
  std::vector<std::vector<double>> by_client(static_cast<size_t>(load.clients));
  std::vector<std::thread> threads;
  const auto start = Clock::now();
  for (auto& times : by_client)
    threads.emplace_back([&load, &times] { times = ask(load, load.requests / load.clients); });
  for (std::thread& thread : threads) thread.join();
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  std::vector<double> times;
  for (const auto& some : by_client) {
    if (some.empty()) {
      std::fprintf(stderr, "torchdyn_ask: an answer was none, or another one\n");
      return 1;
    }
    times.insert(times.end(), some.begin(), some.end());
  }
  std::sort(times.begin(), times.end());
  const auto at = [&](double share) {
    return times[static_cast<size_t>(share * static_cast<double>(times.size() - 1))];
  };
  std::printf(
      "%d clients, %zu requests, %.0f a second; ms: 50 %% %.3f, 90 %% %.3f, 99 %% %.3f, "
      "longest %.3f\n",
      load.clients, times.size(), static_cast<double>(times.size()) / seconds, at(0.5), at(0.9),
      at(0.99), times.back());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::map<std::string, std::string> options = {
      {"--clients", "4"}, {"--requests", "1000"}, {"--outputs", ""}};
  bool proper = argc >= 4 && argc % 2 == 0;
  for (int i = 4; proper && i < argc; i += 2) {
    proper = options.count(argv[i]) != 0;
    options[argv[i]] = argv[i + 1];
  }
  Load load;
  load.clients = std::atoi(options["--clients"].c_str());
  load.requests = std::atoi(options["--requests"].c_str());
  if (!proper || load.clients < 1 || load.requests < load.clients) {
    std::fprintf(stderr,
                 "torchdyn_ask HOST PORT INPUTS [--clients N] [--requests N] [--outputs FILE]\n");
    return 2;
  }
  load.host = argv[1];
  load.port = std::atoi(argv[2]);
  std::ifstream file(argv[3], std::ios::binary);
  load.body.assign(std::istreambuf_iterator<char>(file), {});
  const auto first =
      httplib::Client(load.host, load.port).Post("/call", load.body, "application/octet-stream");
  if (!first || first->status != 200) {
    std::fprintf(stderr, "torchdyn_ask: %s\n", first ? first->body.c_str() : "no answer");
    return 1;
  }
  load.first = first->body;
  if (!options["--outputs"].empty())
    std::ofstream(options["--outputs"], std::ios::binary) << load.first;
  return run(load);
}
