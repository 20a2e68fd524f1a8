// A driver that writes down what it is asked for, with one device of capability 8.6, of four
// processors.
//   imitated() = {};                                          // forget
//   auto launchers = load_cubin(imitated_driver(), file, {"k"});
//   imitated().launches[0].grid
#pragma once

#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "inductor/backend/cuda/driver.h"

namespace inductor {

struct Imitated {
  struct Launch {
    std::string kernel;
    unsigned grid = 0, block = 0, shared_bytes = 0;
    void* stream = nullptr;
    std::vector<int64_t> arguments;  // the kernel's own number of them
  };
  std::set<std::string> kernels{"k1", "k2"};  // that every image contains
  size_t argument_count = 0;                  // of every kernel
  int entered = -1;  // the device whose context was made current; launches succeed from then on
  int load_error = 0, launch_error = 0;  // what these calls answer
  std::string image;
  std::vector<Launch> launches;
  int unloaded = 0;
};

inline Imitated& imitated() {
  static Imitated state;
  return state;
}

inline const CudaDriver& imitated_driver() {
  static const CudaDriver driver{
      .cuInit = [](unsigned) { return 0; },
      .cuGetErrorName =
          [](int error, const char** name) {
            static std::string text;
            text = "CUDA_ERROR_" + std::to_string(error);
            *name = error > 0 ? text.c_str() : nullptr;
            return error > 0 ? 0 : 1;
          },
      .cuGetErrorString =
          [](int error, const char** text) {
            *text = error > 0 ? "imitated error" : nullptr;
            return error > 0 ? 0 : 1;
          },
      .cuDeviceGet =
          [](int* device, int ordinal) {
            *device = ordinal;
            return ordinal == 0 ? 0 : 101;
          },
      .cuDeviceGetAttribute =
          [](int* value, int attribute, int) {
            constexpr int kFacts[][2] = {{75, 8}, {76, 6}, {16, 4}, {39, 1536}};
            *value = -1;
            for (const auto& [known, fact] : kFacts)
              if (attribute == known) *value = fact;
            return 0;
          },
      .cuDevicePrimaryCtxRetain =
          [](void** context, int device) {
            imitated().entered = device;
            *context = &imitated();
            return 0;
          },
      .cuCtxSetCurrent =
          [](void*) {
            imitated().launch_error = 0;
            return 0;
          },
      .cuLibraryLoadData =
          [](void** library, const void* code, int*, void**, unsigned, int*, void**, unsigned) {
            imitated().image = static_cast<const char*>(code);
            *library = &imitated();
            return imitated().load_error;
          },
      .cuLibraryGetKernel =
          [](void** kernel, void*, const char* name) {
            const auto found = imitated().kernels.find(name);
            if (found == imitated().kernels.end()) return 500;
            *kernel = const_cast<std::string*>(&*found);
            return 0;
          },
      .cuLibraryUnload = [](void*) { return ++imitated().unloaded, 0; },
      .cuLaunchKernel =
          [](void* kernel, unsigned x, unsigned y, unsigned z, unsigned block_x, unsigned block_y,
             unsigned block_z, unsigned shared_bytes, void* stream, void** parameters, void**) {
            Imitated::Launch launch{*static_cast<std::string*>(kernel),
                                    x * y * z,
                                    block_x * block_y * block_z,
                                    shared_bytes,
                                    stream,
                                    {}};
            launch.arguments.resize(imitated().argument_count);
            for (size_t i = 0; i < launch.arguments.size(); ++i)
              std::memcpy(&launch.arguments[i], parameters[i], sizeof(int64_t));
            imitated().launches.push_back(launch);
            return imitated().launch_error;
          },
  };
  return driver;
}

}  // namespace inductor
