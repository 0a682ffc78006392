// The entry of libFuzzer for the target MESHWORK_TARGET; see scripts/fuzz.sh.
#include <cstddef>
#include <cstdint>

#include "fuzz/targets.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  meshwork::fuzz::MESHWORK_TARGET({reinterpret_cast<const char*>(data), size});
  return 0;
}
