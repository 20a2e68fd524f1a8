// Tensors in safetensors' layout: what a request is, and its answer.
//   std::vector<Tensor> tensors = read_tensors(body);        // std::invalid_argument says why not
//   std::string body = write_tensors(tensors);
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <dlpack/dlpack.h>

namespace serve {

struct Tensor {
  std::string name;
  DLDataType dtype;
  std::vector<int64_t> sizes;
  std::string_view bytes;  // row-major; borrowed
};

// By name.
std::vector<Tensor> read_tensors(std::string_view file);
std::string write_tensors(const std::vector<Tensor>& tensors);

}  // namespace serve
