// The entries of libFuzzer: FUZZ_TARGET names the target, and without it all are listed; see
// scripts/fuzz.sh.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "fuzz/targets.h"

namespace {

const meshwork::fuzz::NamedTarget* chosen = nullptr;

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  const char* const name = std::getenv("FUZZ_TARGET");
  const auto targets = meshwork::fuzz::targets();
  for (const meshwork::fuzz::NamedTarget& target : targets) {
    if (name == nullptr) std::printf("%s\n", target.name.data());
    if (name != nullptr && target.name == name) chosen = &target;
  }
  if (chosen != nullptr) return 0;
  if (name != nullptr) std::fprintf(stderr, "FUZZ_TARGET: there is no target '%s'\n", name);
  std::exit(name == nullptr ? 0 : 2);
}

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  chosen->run({reinterpret_cast<const char*>(data), size});
  return 0;
}
