#include "torchdyn/package/format/safetensors.h"

#include <gtest/gtest.h>

#include "torchdyn/package/format/layout.h"

namespace torchdyn {
namespace {

using aten_bridge::DType;

std::string with_header(const std::string& header, std::string_view data) {
  std::string bytes(8, '\0');
  layout::write_number(bytes.data(), header.size(), 8);
  return bytes + header + std::string(data);
}

std::string reason(const std::string& header, std::string_view data = "12345678") {
  return std::string(parse_safetensors(with_header(header, data)).status().message());
}

TEST(Safetensors, GivesBackWhatWasWritten) {
  const std::vector<StoredTensor> tensors = {{"w", DType::kFloat32, {2, 1}, "abcdefgh"},
                                             {"n", DType::kInt64, {}, "12345678"},
                                             {"none", DType::kBool, {0, 3}, ""}};
  const auto header = safetensors_header(tensors);
  ASSERT_TRUE(header.ok());
  EXPECT_EQ(header->size() % 16, 0u);
  const std::string bytes = *header + "abcdefgh12345678";
  const auto read = parse_safetensors(bytes);
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_EQ(read->size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ((*read)[i].name, tensors[i].name);
    EXPECT_EQ((*read)[i].dtype, tensors[i].dtype);
    EXPECT_EQ((*read)[i].sizes, tensors[i].sizes);
    EXPECT_EQ((*read)[i].bytes, tensors[i].bytes);
  }
}

TEST(Safetensors, TakesWhatOthersWriteBesides) {
  const auto read = parse_safetensors(with_header(
      R"({"__metadata__":{"a":"b"},"w":{"dtype":"F16","shape":[4],"data_offsets":[0,8]}}   )",
      "12345678"));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->at(0).dtype, DType::kFloat16);
}

TEST(Safetensors, RefusesADtypeWithoutAName) {
  EXPECT_FALSE(safetensors_header({{"w", DType::kComplex128, {}, "0123456789012345"}}).ok());
}

TEST(Safetensors, RefusesOffsetsThatAreNotItsSizes) {
  const std::string refused = "not in safetensors' layout: w is not where its offsets say";
  const auto at = [](const std::string& shape, const std::string& offsets) {
    return R"({"w":{"dtype":"F32","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}";
  };
  EXPECT_EQ(reason(at("[2]", "[0,8]")), "");
  EXPECT_EQ(reason(at("[2]", "[1,9]")), refused);
  EXPECT_EQ(reason(at("[2]", "[0,4]")), refused);
  EXPECT_EQ(reason(at("[2]", "[8,0]")), refused);
  EXPECT_EQ(reason(at("[2]", "[-8,0]")), refused);
  EXPECT_EQ(reason(at("[-2]", "[0,8]")), refused);
  EXPECT_EQ(reason(at("[4611686018427387904, 4, 4]", "[0,0]")), refused);  // 2^62 * 64 is 0
  EXPECT_EQ(reason(at("[2]", "[0,18446744073709551615]")), refused);
  EXPECT_NE(reason(at("[2.0]", "[0,8]")), "");
  EXPECT_NE(reason(at("2", "[0,8]")), refused);
  EXPECT_NE(reason(at("[2]", "[0]")), "");
}

TEST(Safetensors, RefusesHeadersThatAreNone) {
  EXPECT_NE(reason("{"), "");
  EXPECT_NE(reason("[1]"), "");
  EXPECT_NE(reason(R"({"w":1})"), "");
  EXPECT_NE(reason(R"({"w":{"dtype":"F99","shape":[],"data_offsets":[0,0]}})"), "");
  EXPECT_FALSE(parse_safetensors("1234567").ok());
  EXPECT_FALSE(parse_safetensors(std::string(8, '\xff') + "{}").ok());
  EXPECT_NE(reason(std::string(1 << 20, '[')), "");
}

TEST(Safetensors, RefusesTwoTensorsOfOneName) {
  const std::string one = R"("w":{"dtype":"U8","shape":[],"data_offsets":[0,1]})";
  EXPECT_NE(reason("{" + one + "," + one + "}").find("two tensors named w"), std::string::npos);
}

}  // namespace
}  // namespace torchdyn
