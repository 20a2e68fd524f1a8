#include "torchdyn/package/format/signature.h"

#include <fstream>
#include <iterator>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/inductor/support/scratch_directory.h"
#include "torchdyn/package/format/ed25519.h"
#include "torchdyn/package/format/mapped_file.h"

namespace torchdyn {
namespace {

using inductor::ScratchDirectory;
using ::testing::HasSubstr;

// Keys of the first and second tests in RFC 8032, as PEM.
constexpr std::string_view kPrivate =
    "-----BEGIN PRIVATE KEY-----\n"
    "MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n"
    "-----END PRIVATE KEY-----\n";
constexpr std::string_view kPublic =
    "-----BEGIN PUBLIC KEY-----\n"
    "MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n"
    "-----END PUBLIC KEY-----\n";
constexpr std::string_view kAnother =
    "-----BEGIN PUBLIC KEY-----\n"
    "MCowBQYDK2VwAyEAPUAXw+hDiVqStwqnTRt+vJyYLM8uxJaMwM1V8Sr0Zgw=\n"
    "-----END PUBLIC KEY-----\n";

#define NEEDS_LIBCRYPTO()                                 \
  if (absl::IsUnavailable(ed25519_sign("", "").status())) \
  GTEST_SKIP() << std::string(ed25519_sign("", "").status().message())

class SignatureTest : public ::testing::Test {
 protected:
  SignatureTest() { EXPECT_TRUE(write_container(path("a"), sections("weights")).ok()); }

  static std::vector<SectionToWrite> sections(std::string_view weights) {
    return {{"manifest.json", {"manifest"}}, {"weights", {weights}}};
  }
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
  // Its file lives as long as the test.
  Container open(const std::string& name) {
    files_.push_back(*MappedFile::open(path(name)));
    return *Container::parse(files_.back()->bytes());
  }
  absl::Status signed_by(const std::string& name, std::string_view key) {
    return check_signature(open(name), key);
  }

  const ScratchDirectory folder_;
  std::vector<std::shared_ptr<const MappedFile>> files_;
};

TEST_F(SignatureTest, IsThatOfTheStandardsFirstTest) {
  NEEDS_LIBCRYPTO();
  const auto signature = ed25519_sign(kPrivate, "");
  ASSERT_TRUE(signature.ok()) << signature.status();
  EXPECT_EQ(signature->substr(0, 8), std::string("\xe5\x56\x43\x00\xc3\x60\xac\x72", 8));
  EXPECT_TRUE(ed25519_verify(kPublic, "", *signature).ok());
}

TEST_F(SignatureTest, OfItsOwnerAloneIsAccepted) {
  NEEDS_LIBCRYPTO();
  EXPECT_EQ(signed_by("a", kPublic).message(), "the package is not signed");
  ASSERT_TRUE(write_signed(open("a"), kPrivate, path("b")).ok());
  EXPECT_TRUE(signed_by("b", kPublic).ok()) << signed_by("b", kPublic);
  EXPECT_TRUE(absl::IsPermissionDenied(signed_by("b", kAnother)));
  ASSERT_TRUE(write_signed(open("b"), kPrivate, path("c")).ok());  // once more
  EXPECT_EQ(open("c").sections().size(), 3u);
}

TEST_F(SignatureTest, IsOfTheseSectionsAlone) {
  NEEDS_LIBCRYPTO();
  ASSERT_TRUE(write_signed(open("a"), kPrivate, path("b")).ok());
  const std::string signature(*open("b").bytes(kSignatureSection));
  auto others = sections("Weights");
  others.push_back({std::string(kSignatureSection), {signature}});
  ASSERT_TRUE(write_container(path("c"), others).ok());
  EXPECT_TRUE(absl::IsPermissionDenied(signed_by("c", kPublic)));
  auto more = sections("weights");
  more.push_back({"another", {"section"}});
  more.push_back({std::string(kSignatureSection), {signature}});
  ASSERT_TRUE(write_container(path("d"), more).ok());
  EXPECT_TRUE(absl::IsPermissionDenied(signed_by("d", kPublic)));
}

TEST_F(SignatureTest, TellsThatBytesAreNotThoseThatWereSigned) {
  NEEDS_LIBCRYPTO();
  ASSERT_TRUE(write_signed(open("a"), kPrivate, path("b")).ok());
  std::ifstream in(path("b"), std::ios::binary);
  std::string file{std::istreambuf_iterator<char>(in), {}};
  file[file.find("weights", 8192)] = 'W';
  std::ofstream(path("b"), std::ios::binary) << file;
  EXPECT_EQ(signed_by("b", kPublic).message(), "section weights is damaged");
}

TEST_F(SignatureTest, NeedsAKeyOfItsKind) {
  NEEDS_LIBCRYPTO();
  EXPECT_THAT(std::string(ed25519_sign(kPublic, "").status().message()),
              HasSubstr("no private Ed25519 key"));
  EXPECT_THAT(std::string(ed25519_verify("key", "", std::string(64, 'x')).message()),
              HasSubstr("no public Ed25519 key"));
}

}  // namespace
}  // namespace torchdyn
