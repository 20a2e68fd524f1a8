// Variants of a compiled function as a package.
//   save_variants(variants, options, "model.td");        // throws PackageError
#pragma once

#include <span>
#include <string>

namespace torchdyn {

struct Options;
struct Variant;

// Those that run in eager are left out.
void save_variants(std::span<const Variant* const> variants, const Options& options,
                   const std::string& path);

}  // namespace torchdyn
