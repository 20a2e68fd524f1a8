#include "tests/inductor/support/compiled.h"

#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include <dlfcn.h>

#include "aten_bridge/base/check.h"
#include "aten_bridge/base/str_cat.h"
#include "inductor/ir/value_bounds.h"
#include "inductor/runtime/core/launcher.h"

namespace inductor::testing {
namespace {

using aten_bridge::str_cat;
using Kernel = void (*)(void* const*, const int64_t*, const TdContext*);

template <class T>
void put(unsigned char* to, T value) {
  std::memcpy(to, &value, sizeof value);
}
template <class T>
T get(const unsigned char* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

// Values of the half types are exact in double; infinities and NaN included.
uint16_t half_bits(double x, int exponent_bits) {
  const int fraction_bits = 15 - exponent_bits, bias = (1 << (exponent_bits - 1)) - 1;
  const uint16_t sign = std::signbit(x) ? 0x8000 : 0;
  const int top = (1 << exponent_bits) - 1;
  if (std::isnan(x))
    return static_cast<uint16_t>((top << fraction_bits) | 1 << (fraction_bits - 1));
  if (std::isinf(x)) return static_cast<uint16_t>(sign | top << fraction_bits);
  if (x == 0) return sign;
  const int exponent = std::max(std::ilogb(x), 1 - bias);
  const double scaled = std::ldexp(std::fabs(x), fraction_bits - exponent);
  const int bits = static_cast<int>(scaled) + ((exponent + bias - 1) << fraction_bits);
  return static_cast<uint16_t>(sign | bits);
}
double half_value(uint16_t bits, int exponent_bits) {
  const int fraction_bits = 15 - exponent_bits, bias = (1 << (exponent_bits - 1)) - 1;
  const int fraction = bits & ((1 << fraction_bits) - 1),
            exponent = (bits & 0x7fff) >> fraction_bits;
  double x;
  if (exponent == (1 << exponent_bits) - 1)
    x = fraction ? NAN : INFINITY;
  else if (exponent == 0)
    x = std::ldexp(fraction, 1 - bias - fraction_bits);
  else
    x = std::ldexp(fraction + (1 << fraction_bits), exponent - bias - fraction_bits);
  return bits & 0x8000 ? -x : x;
}

std::vector<unsigned char> bytes_of(const Array& array) {
  const int64_t size = aten_bridge::size_in_bytes(array.type.dtype);
  std::vector<unsigned char> bytes(array.data.size() * static_cast<size_t>(size));
  unsigned char* to = bytes.data();
  for (const ScalarValue& v : array.data) {
    switch (array.type.dtype) {
      case DType::kFloat32:
        put(to, static_cast<float>(v.floating));
        break;
      case DType::kFloat64:
        put(to, v.floating);
        break;
      case DType::kFloat16:
        put(to, half_bits(v.floating, 5));
        break;
      case DType::kBFloat16:
        put(to, half_bits(v.floating, 8));
        break;
      default:  // little endian
        std::memcpy(to, &v.integer, static_cast<size_t>(size));
    }
    to += size;
  }
  return bytes;
}

ScalarValue value_at(const unsigned char* from, DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return ScalarValue::of(dtype, get<float>(from));
    case DType::kFloat64:
      return ScalarValue::of(dtype, get<double>(from));
    case DType::kFloat16:
      return ScalarValue::of(dtype, half_value(get<uint16_t>(from), 5));
    case DType::kBFloat16:
      return ScalarValue::of(dtype, half_value(get<uint16_t>(from), 8));
    case DType::kUInt8:
    case DType::kBool:
      return ScalarValue::of_integer(dtype, *from);
    case DType::kInt8:
      return ScalarValue::of_integer(dtype, get<int8_t>(from));
    case DType::kInt16:
      return ScalarValue::of_integer(dtype, get<int16_t>(from));
    case DType::kInt32:
      return ScalarValue::of_integer(dtype, get<int32_t>(from));
    default:
      return ScalarValue::of_integer(dtype, get<int64_t>(from));
  }
}

thread_local int pieces_now = 1;

void parallel_for(int64_t count, int64_t grain, void (*body)(void*, int64_t, int64_t), void* arg) {
  TD_CHECK(grain >= 1, "grain");
  for (int64_t p = pieces_now; p-- > 0;)
    body(arg, count * p / pieces_now, count * (p + 1) / pieces_now);
}

}  // namespace

std::vector<Array> CompiledKernels::run(size_t program, const std::vector<Array>& inputs,
                                        int pieces) const {
  const Program& p = programs_[program];
  const auto& buffers = p.loops->buffers;
  std::vector<std::vector<unsigned char>> memory(buffers.size());
  for (size_t b = 0; b < buffers.size(); ++b) memory[b] = bytes_of(zeros(buffers[b].type));
  for (size_t i = 0; i < inputs.size(); ++i)
    memory[static_cast<size_t>(p.loops->inputs[i])] = bytes_of(inputs[i]);
  const TdContext context{parallel_for, nullptr};
  pieces_now = pieces;
  for (const EmittedKernel& kernel : p.kernels) {
    std::vector<void*> pointers;
    for (int b : kernel.buffers) pointers.push_back(memory[static_cast<size_t>(b)].data());
    auto* function = reinterpret_cast<Kernel>(dlsym(library_.get(), kernel.name.c_str()));
    TD_CHECK(function, "no function ", kernel.name);
    function(pointers.data(), nullptr, &context);
  }
  std::vector<Array> results;
  for (const auto& output : p.loops->outputs) {
    const DType dtype = buffers[static_cast<size_t>(output->buffer)].type.dtype;
    Array result =
        zeros({dtype, {}, output->sizes, aten_bridge::contiguous_strides(output->sizes)});
    const unsigned char* from = memory[static_cast<size_t>(output->buffer)].data();
    for (size_t n = 0; n < result.data.size(); ++n) {
      int64_t rest = static_cast<int64_t>(n), where = output->offset.as_constant();
      for (size_t d = output->sizes.size(); d-- > 0;) {
        where += rest % output->sizes[d].as_constant() * output->strides[d].as_constant();
        rest /= output->sizes[d].as_constant();
      }
      result.data[n] = value_at(from + where * aten_bridge::size_in_bytes(dtype), dtype);
    }
    results.push_back(std::move(result));
  }
  return results;
}

CompiledKernels compile_kernels(const std::vector<const LoopProgram*>& programs,
                                const std::string& flags, const std::string& definitions) {
  CompiledKernels out;
  std::string text = cpp_preamble() + definitions;
  std::set<std::string> names;
  for (const LoopProgram* program : programs) {
    CompiledKernels::Program& p = out.programs_.emplace_back();
    p.loops = program;
    for (const Stmt& stmt : program->body) {
      p.kernels.push_back(emit_cpp(*program, std::get<inductor::Kernel>(stmt)));
      if (names.insert(p.kernels.back().name).second) text += "\n" + p.kernels.back().text;
    }
  }
  std::string folder = (std::filesystem::temp_directory_path() / "td_kernels_XXXXXX").string();
  TD_CHECK(mkdtemp(folder.data()), "no temporary folder");
  std::ofstream(folder + "/k.cc") << text;
  const char* compiler = std::getenv("CXX");
  const std::string command = str_cat(compiler ? compiler : "c++", " -std=c++20 ", flags,
                                      " -fwrapv -ffp-contract=off -shared -fPIC -w -o ", folder,
                                      "/k.so ", folder, "/k.cc > ", folder, "/log 2>&1");
  TD_CHECK(std::system(command.c_str()) == 0, "the compiler failed: see ", folder, "/log");
  // Lazily: functions of libtorch_cpu that no test calls may be missing.
  out.library_ = {dlopen((folder + "/k.so").c_str(), RTLD_LAZY | RTLD_LOCAL),
                  [](void* library) { dlclose(library); }};
  TD_CHECK(out.library_, dlerror());
  std::filesystem::remove_all(folder);
  return out;
}

}  // namespace inductor::testing
