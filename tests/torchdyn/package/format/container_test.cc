#include "torchdyn/package/format/container.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include <gtest/gtest.h>

#include "aten_bridge/base/digest.h"
#include "tests/inductor/support/scratch_directory.h"
#include "torchdyn/package/format/layout.h"
#include "torchdyn/package/format/mapped_file.h"

namespace torchdyn {
namespace {

using inductor::ScratchDirectory;

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A container of two sections, as a file's bytes.
std::string two_sections() {
  const ScratchDirectory directory;
  const std::string path = directory.path() + "/two.td";
  const absl::Status written = write_container(
      path, {{"text", {"he", "llo"}}, {"weights", {std::string_view("\0\1\2", 3)}}});
  EXPECT_TRUE(written.ok()) << written;
  return read(path);
}

// With the digest of a table that was changed.
std::string with_table_digest(std::string file) {
  const std::string_view table[] = {
      std::string_view(file).substr(layout::kHeaderBytes, 2 * layout::kEntryBytes)};
  const auto digest = aten_bridge::sha256(table);
  std::copy(digest.begin(), digest.end(), file.begin() + layout::kTableDigestAt);
  return file;
}

std::string with_number(std::string file, size_t at, uint64_t value) {
  layout::write_number(&file[at], value, 8);
  return with_table_digest(std::move(file));
}

std::string reason(std::string_view file) {
  return std::string(Container::parse(file).status().message());
}

constexpr size_t kSecond = layout::kHeaderBytes + layout::kEntryBytes;

TEST(Container, GivesBackWhatWasWritten) {
  const std::string file = two_sections();
  const auto container = Container::parse(file);
  ASSERT_TRUE(container.ok()) << container.status();
  EXPECT_EQ(*container->checked_bytes("text"), "hello");
  EXPECT_EQ(*container->checked_bytes("weights"), std::string_view("\0\1\2", 3));
  EXPECT_FALSE(container->has("other"));
  EXPECT_TRUE(absl::IsNotFound(container->bytes("other").status()));
  EXPECT_TRUE(container->check_all().ok());
}

TEST(Container, BeginsEachSectionAtAPage) {
  const std::string file = two_sections();
  const Container container = *Container::parse(file);
  for (const Section& section : container.sections())
    EXPECT_EQ((section.bytes.data() - file.data()) % 4096, 0) << section.name;
}

TEST(Container, KeepsTheDigestThatOtherToolsCompute) {
  const std::string_view abc[] = {"a", "bc"};
  const auto digest = aten_bridge::sha256(abc);  // FIPS 180-4's own example
  EXPECT_EQ(digest[0], 0xba);
  EXPECT_EQ(digest[1], 0x78);
  EXPECT_EQ(digest[31], 0xad);
}

TEST(Container, IsTheSameFileForTheSameSections) { EXPECT_EQ(two_sections(), two_sections()); }

TEST(Container, RefusesToWriteTwoSectionsOfOneName) {
  const ScratchDirectory directory;
  const std::string path = directory.path() + "/a.td";
  EXPECT_EQ(write_container(path, {{"a", {}}, {"a", {}}}).message(), "two sections named a");
  EXPECT_EQ(write_container(path, {{"A b", {}}}).message(), "'A b' is no section's name");
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(Container, LeavesNothingWhereItCannotWrite) {
  const ScratchDirectory directory;
  const absl::Status status = write_container(directory.path() + "/absent/a.td", {{"a", {"x"}}});
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

TEST(Container, RefusesEveryTruncation) {
  const std::string file = two_sections();
  for (size_t bytes = 0; bytes < file.size(); ++bytes)
    EXPECT_FALSE(Container::parse(std::string_view(file).substr(0, bytes)).ok()) << bytes;
}

TEST(Container, RefusesEveryChangedBitOfItsTable) {
  const std::string file = two_sections();
  for (size_t bit = 0; bit < 8 * (kSecond + layout::kEntryBytes); ++bit) {
    if (bit / 8 >= layout::kMinorAt && bit / 8 < layout::kFileBytesAt) continue;  // a minor version
    std::string changed = file;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_FALSE(Container::parse(changed).ok()) << "byte " << bit / 8;
  }
}

TEST(Container, NoticesEveryChangedByteBehindTheTable) {
  const std::string file = two_sections();
  for (size_t at = kSecond + layout::kEntryBytes; at < file.size(); ++at) {
    std::string changed = file;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    const auto container = Container::parse(changed);
    ASSERT_TRUE(container.ok());
    EXPECT_TRUE(absl::IsDataLoss(container->check_all())) << at;
  }
}

TEST(Container, RefusesWhatIsNoPackage) {
  EXPECT_EQ(reason(""), "not a package: it has 0 bytes, fewer than a header");
  EXPECT_EQ(reason(std::string(100, 'x')), "not a package: it begins otherwise than one");
}

TEST(Container, RefusesAnotherMajorVersionAndTakesALaterMinorOne) {
  std::string file = two_sections();
  layout::write_number(&file[layout::kMinorAt], 7, 4);
  EXPECT_TRUE(Container::parse(file).ok());
  layout::write_number(&file[layout::kMajorAt], 2, 4);
  EXPECT_EQ(reason(file), "a package of format 2; this library reads format 1");
}

TEST(Container, RefusesATableThatDoesNotFit) {
  std::string file = two_sections();
  for (uint64_t count : {uint64_t{70}, uint64_t{1} << 40, ~uint64_t{0}, ~uint64_t{0} / 128 + 2}) {
    layout::write_number(&file[layout::kSectionCountAt], count, 8);
    EXPECT_NE(reason(file).find("does not fit"), std::string::npos) << count;
  }
}

TEST(Container, RefusesSectionsOutsideTheFile) {
  const std::string file = two_sections();
  const std::string beyond = "not a package: section weights goes beyond its end";
  EXPECT_EQ(reason(with_number(file, kSecond + layout::kBytesAt, 4)), beyond);
  EXPECT_EQ(reason(with_number(file, kSecond + layout::kBytesAt, ~uint64_t{0})), beyond);
  EXPECT_EQ(reason(with_number(file, kSecond + layout::kOffsetAt, uint64_t{1} << 20)), beyond);
  EXPECT_EQ(reason(with_number(file, kSecond + layout::kOffsetAt, ~uint64_t{0} - 4095)), beyond);
}

TEST(Container, RefusesSectionsOnTheSameBytes) {
  const std::string file = two_sections();
  EXPECT_EQ(reason(with_number(file, kSecond + layout::kOffsetAt, 4096)),
            "not a package: section weights begins where another one is");
  EXPECT_EQ(reason(with_number(file, kSecond + layout::kOffsetAt, 0)),
            "not a package: section weights begins where another one is");
  EXPECT_EQ(reason(with_number(file, kSecond + layout::kOffsetAt, 8191)),
            "not a package: section weights is not aligned");
}

TEST(Container, RefusesNamesThatAreTwiceThereOrNone) {
  std::string file = two_sections();
  file.replace(kSecond, 7, std::string_view("text\0\0\0", 7));
  EXPECT_EQ(reason(with_table_digest(file)), "not a package: two sections named text");
  file.replace(kSecond, 7, std::string_view("te\0t\0\0\0", 7));
  EXPECT_EQ(reason(with_table_digest(file)), "not a package: a section has no proper name");
  file.replace(kSecond, layout::kNameBytes, std::string(layout::kNameBytes, 'x'));
  EXPECT_EQ(reason(with_table_digest(file)), "not a package: a section has no proper name");
}

TEST(Container, SurvivesBytesAtRandom) {
  const std::string file = two_sections();
  std::mt19937 random(1);
  for (int round = 0; round < 20000; ++round) {
    std::string changed = file;
    for (int change = 0; change < 4; ++change)
      changed[random() % (kSecond + layout::kEntryBytes)] = static_cast<char>(random());
    if (auto container = Container::parse(with_table_digest(changed)); container.ok())
      container->check_all().IgnoreError();
  }
}

TEST(MappedFile, IsThisProcesssOwnWhereItIsWritten) {
  const ScratchDirectory directory;
  const std::string path = directory.path() + "/a";
  std::ofstream(path) << "abc";
  const auto file = MappedFile::open(path);
  ASSERT_TRUE(file.ok()) << file.status();
  const_cast<char*>((*file)->bytes().data())[0] = 'x';
  EXPECT_EQ((*file)->bytes(), "xbc");
  EXPECT_EQ(read(path), "abc");
}

TEST(MappedFile, SaysWhyItCannotOpenOne) {
  EXPECT_TRUE(absl::IsNotFound(MappedFile::open("/absent/a").status()));
  EXPECT_TRUE(absl::IsUnavailable(MappedFile::open("/").status()));
}

}  // namespace
}  // namespace torchdyn
