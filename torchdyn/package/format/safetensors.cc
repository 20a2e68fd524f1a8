#include "torchdyn/package/format/safetensors.h"

#include <optional>
#include <set>

#include <nlohmann/json.hpp>

#include "aten_bridge/base/str_cat.h"
#include "torchdyn/package/format/layout.h"

namespace torchdyn {
namespace {

using aten_bridge::DType;
using aten_bridge::str_cat;
using Json = nlohmann::ordered_json;

struct DtypeName {
  DType dtype;
  std::string_view name;
};
constexpr DtypeName kDtypeNames[] = {
    {DType::kBool, "BOOL"},   {DType::kUInt8, "U8"},      {DType::kInt8, "I8"},
    {DType::kInt16, "I16"},   {DType::kUInt16, "U16"},    {DType::kInt32, "I32"},
    {DType::kUInt32, "U32"},  {DType::kInt64, "I64"},     {DType::kUInt64, "U64"},
    {DType::kFloat16, "F16"}, {DType::kBFloat16, "BF16"}, {DType::kFloat32, "F32"},
    {DType::kFloat64, "F64"}, {DType::kComplex64, "C64"},
};
constexpr size_t kLengthBytes = 8;  // of the header's length
// Where tensors begin is a multiple of the largest element.
constexpr size_t kDataAlignment = 16;

std::optional<DType> dtype_named(std::string_view name) {
  for (const DtypeName& row : kDtypeNames)
    if (row.name == name) return row.dtype;
  return std::nullopt;
}

// Exact, or none.
std::optional<uint64_t> bytes_of(DType dtype, const std::vector<int64_t>& sizes) {
  uint64_t bytes = static_cast<uint64_t>(size_in_bytes(dtype));
  for (int64_t size : sizes)
    if (size < 0 || __builtin_mul_overflow(bytes, static_cast<uint64_t>(size), &bytes))
      return std::nullopt;
  return bytes;
}

absl::Status refuse(std::string_view reason) {
  return absl::InvalidArgumentError(str_cat("not in safetensors' layout: ", reason));
}

// nlohmann's get() takes 1.5 for an integer, too.
int64_t integer(const Json& number) {
  if (!number.is_number_integer())
    throw Json::type_error::create(302, "a size or an offset that is no integer", &number);
  return number.get<int64_t>();
}

absl::StatusOr<StoredTensor> read_tensor(const std::string& name, const Json& entry,
                                         std::string_view data) {
  StoredTensor tensor;
  tensor.name = name;
  const auto dtype = dtype_named(entry.at("dtype").get_ref<const std::string&>());
  if (!dtype) return refuse(str_cat(name, " has a dtype that is not known"));
  tensor.dtype = *dtype;
  for (const Json& size : entry.at("shape")) tensor.sizes.push_back(integer(size));
  const Json& offsets = entry.at("data_offsets");
  const int64_t begin = integer(offsets.at(0)), end = integer(offsets.at(1));
  const auto bytes = bytes_of(tensor.dtype, tensor.sizes);
  if (begin < 0 || begin > end || static_cast<uint64_t>(end) > data.size() ||
      bytes != static_cast<uint64_t>(end - begin))
    return refuse(str_cat(name, " is not where its offsets say"));
  tensor.bytes = data.substr(static_cast<size_t>(begin), *bytes);
  return tensor;
}

// Json::parse keeps the last of two members of one name.
Json parse_without_duplicates(std::string_view text) {
  std::set<std::string> names;
  return Json::parse(text, [&](int depth, Json::parse_event_t event, Json& name) {
    if (depth == 1 && event == Json::parse_event_t::key &&
        !names.insert(name.get<std::string>()).second)
      throw Json::other_error::create(501, "two tensors named " + name.get<std::string>(), &name);
    return true;
  });
}

}  // namespace

absl::StatusOr<std::string> safetensors_header(const std::vector<StoredTensor>& tensors) {
  Json header = Json::object();
  uint64_t offset = 0;
  for (const StoredTensor& tensor : tensors) {
    std::string_view dtype;
    for (const DtypeName& row : kDtypeNames)
      if (row.dtype == tensor.dtype) dtype = row.name;
    if (dtype.empty())
      return absl::InvalidArgumentError(str_cat(tensor.name, " is of ",
                                                aten_bridge::to_string(tensor.dtype),
                                                ", which packages do not store"));
    const uint64_t end = offset + tensor.bytes.size();
    header[tensor.name] = {
        {"dtype", dtype}, {"shape", tensor.sizes}, {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = header.dump();
  while ((kLengthBytes + text.size()) % kDataAlignment != 0) text += ' ';
  std::string length(kLengthBytes, '\0');
  layout::write_number(length.data(), text.size(), kLengthBytes);
  return length + text;
}

absl::StatusOr<std::vector<StoredTensor>> parse_safetensors(std::string_view bytes) {
  if (bytes.size() < kLengthBytes) return refuse("no header");
  const uint64_t length = layout::read_number(bytes, 0, kLengthBytes);
  if (length > bytes.size() - kLengthBytes) return refuse("its header goes beyond its end");
  const std::string_view data = bytes.substr(kLengthBytes + length);
  std::vector<StoredTensor> tensors;
  try {
    const Json header = parse_without_duplicates(bytes.substr(kLengthBytes, length));
    if (!header.is_object()) return refuse("its header is no object");
    for (const auto& [name, entry] : header.items()) {
      if (name == "__metadata__") continue;
      auto tensor = read_tensor(name, entry, data);
      if (!tensor.ok()) return tensor.status();
      tensors.push_back(*std::move(tensor));
    }
  } catch (const Json::exception& error) {
    return refuse(error.what());
  }
  return tensors;
}

}  // namespace torchdyn
