#include "torchdyn/package/format/signature.h"

#include <algorithm>

#include "torchdyn/package/format/ed25519.h"
#include "torchdyn/package/format/layout.h"

namespace torchdyn {

std::string signed_message(const Container& container) {
  std::vector<const Section*> sections;
  for (const Section& section : container.sections())
    if (section.name != kSignatureSection) sections.push_back(&section);
  std::sort(sections.begin(), sections.end(),
            [](const Section* a, const Section* b) { return a->name < b->name; });
  std::string message = "torchdyn package, signature 1\n";
  for (const Section* section : sections) {
    std::string entry(layout::kNameBytes + 8, '\0');
    std::copy(section->name.begin(), section->name.end(), entry.begin());
    layout::write_number(&entry[layout::kNameBytes], section->bytes.size(), 8);
    message += entry;
    message.append(section->sha256.begin(), section->sha256.end());
  }
  return message;
}

absl::Status write_signed(const Container& container, std::string_view private_pem,
                          const std::string& path) {
  if (absl::Status whole = container.check_all(); !whole.ok()) return whole;
  auto signature = ed25519_sign(private_pem, signed_message(container));
  if (!signature.ok()) return signature.status();
  std::vector<SectionToWrite> sections;
  for (const Section& section : container.sections())
    if (section.name != kSignatureSection)
      sections.push_back({std::string(section.name), {section.bytes}});
  sections.push_back({std::string(kSignatureSection), {*signature}});
  return write_container(path, sections);
}

absl::Status check_signature(const Container& container, std::string_view public_pem) {
  auto signature = container.bytes(kSignatureSection);
  if (!signature.ok()) return absl::NotFoundError("the package is not signed");
  const absl::Status valid = ed25519_verify(public_pem, signed_message(container), *signature);
  return valid.ok() ? container.check_all() : valid;
}

}  // namespace torchdyn
