#include "aten_bridge/base/str_cat.h"
#include "inductor/emit/emit.h"
#include "inductor/emit/preamble/embedded.h"

namespace inductor {

using aten_bridge::str_cat;

namespace {

std::string special_functions() {
  return str_cat(td_special_h(), "\n", td_bessel_h(), "\n", td_polynomials_h(), "\n",
                 td_random_h());
}

}  // namespace

std::string cpp_preamble() {
  return str_cat(td_cpu_h(), "\n", td_cpu_convert_h(), "\n", td_cpu_math_h(), "\n",
                 special_functions());
}

std::string cuda_preamble() {
  return str_cat(td_cuda_device_cuh(), "\n", td_cuda_turing_cuh(), "\n", td_cuda_cuh(), "\n",
                 td_cuda_convert_cuh(), "\n", td_cuda_math_cuh(), "\n", td_cuda_groups_cuh(), "\n",
                 special_functions(), "\n", td_cuda_random_cuh());
}

}  // namespace inductor
