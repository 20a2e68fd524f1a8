// The CPythons whose bytecode is known.
//   version_name(PythonVersion::k3_12)   // "3.12"
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace torchdyn {

enum class PythonVersion : uint8_t { k3_11, k3_12, k3_13 };

constexpr PythonVersion kPythonVersions[] = {PythonVersion::k3_11, PythonVersion::k3_12,
                                             PythonVersion::k3_13};

constexpr std::string_view version_name(PythonVersion version) {
  constexpr std::string_view kNames[] = {"3.11", "3.12", "3.13"};
  return kNames[static_cast<int>(version)];
}

constexpr std::optional<PythonVersion> version_named(std::string_view name) {
  for (const PythonVersion version : kPythonVersions)
    if (version_name(version) == name) return version;
  return std::nullopt;
}

}  // namespace torchdyn
