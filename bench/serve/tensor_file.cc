#include "bench/serve/tensor_file.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include <nlohmann/json.hpp>

namespace serve {
namespace {

using Json = nlohmann::json;

constexpr size_t kLengthBytes = 8;

struct DType {
  const char* name;
  uint8_t code, bits;  // DLPack's
};
constexpr DType kDTypes[] = {
    {"F32", kDLFloat, 32},   {"F64", kDLFloat, 64}, {"F16", kDLFloat, 16},
    {"BF16", kDLBfloat, 16}, {"I64", kDLInt, 64},   {"I32", kDLInt, 32},
    {"I16", kDLInt, 16},     {"I8", kDLInt, 8},     {"U8", kDLUInt, 8},
};

const DType& find_dtype(const std::string& name) {
  for (const DType& row : kDTypes)
    if (row.name == name) return row;
  throw std::invalid_argument("a tensor of " + name);
}

const char* name_of(const DLDataType& dtype) {
  for (const DType& row : kDTypes)
    if (row.code == dtype.code && row.bits == dtype.bits) return row.name;
  throw std::invalid_argument("a result of a dtype that the file has no name for");
}

Tensor read_tensor(const std::string& name, const Json& json, std::string_view bytes) {
  const DType& dtype = find_dtype(json.at("dtype").get<std::string>());
  Tensor tensor{name, {dtype.code, dtype.bits, 1}, {}, {}};
  uint64_t expected = dtype.bits / 8;
  for (const auto size : json.at("shape").get<std::vector<uint64_t>>()) {
    if (__builtin_mul_overflow(expected, size, &expected))
      throw std::invalid_argument(name + " has a size that no tensor has");
    tensor.sizes.push_back(static_cast<int64_t>(size));
  }
  const auto place = json.at("data_offsets").get<std::pair<uint64_t, uint64_t>>();
  if (place.first > place.second || place.second > bytes.size() ||
      place.second - place.first != expected)
    throw std::invalid_argument(name + " is not as long as its sizes say");
  tensor.bytes = bytes.substr(place.first, expected);
  return tensor;
}

}  // namespace

std::vector<Tensor> read_tensors(std::string_view file) try {
  uint64_t header = 0;
  if (file.size() < kLengthBytes) throw std::invalid_argument("no header");
  std::memcpy(&header, file.data(), kLengthBytes);
  file.remove_prefix(kLengthBytes);
  if (header > file.size()) throw std::invalid_argument("a header that goes beyond the end");
  const Json json = Json::parse(file.substr(0, header));
  std::vector<Tensor> tensors;
  for (const auto& [name, one] : json.items())
    if (name != "__metadata__") tensors.push_back(read_tensor(name, one, file.substr(header)));
  return tensors;
} catch (const Json::exception& error) {
  throw std::invalid_argument(error.what());
}

std::string write_tensors(const std::vector<Tensor>& tensors) {
  Json json = Json::object();
  uint64_t end = 0;
  for (const Tensor& tensor : tensors) {
    const uint64_t begin = end;
    end += tensor.bytes.size();
    json[tensor.name] = {
        {"dtype", name_of(tensor.dtype)}, {"shape", tensor.sizes}, {"data_offsets", {begin, end}}};
  }
  const std::string header = json.dump();
  const uint64_t length = header.size();
  std::string file(reinterpret_cast<const char*>(&length), kLengthBytes);
  file += header;
  for (const Tensor& tensor : tensors) file += tensor.bytes;
  return file;
}

}  // namespace serve
