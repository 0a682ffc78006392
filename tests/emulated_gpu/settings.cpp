#include "emulated_gpu/settings.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace emulated_gpu {
namespace {

long long number(const char* name, long long otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoll(text, nullptr, 10);
}

Settings read() {
  Settings result;
  result.gpus = static_cast<int>(number("EMULATED_GPUS", result.gpus));
  result.memory = static_cast<std::size_t>(
      number("EMULATED_GPU_MEMORY", static_cast<long long>(result.memory)));
  result.driver_version =
      static_cast<int>(number("EMULATED_GPU_DRIVER_VERSION", result.driver_version));
  if (const char* const text = std::getenv("EMULATED_GPU_CAPABILITY"); text != nullptr) {
    std::sscanf(text, "%d.%d", &result.major, &result.minor);
  }
  result.failing_launch = number("EMULATED_GPU_FAIL_LAUNCH", 0);
  result.graphs = number("EMULATED_GPU_GRAPHS", result.graphs);
  result.slow_products = number("EMULATED_GPU_SLOW_PRODUCTS", 0);
  result.has_heuristics = number("EMULATED_GPU_NO_HEURISTICS", 0) == 0;
  result.seed = static_cast<std::uint64_t>(number("EMULATED_GPU_SEED", 0));
  if (const char* const text = std::getenv("EMULATED_GPU_IPC"); text != nullptr) {
    result.shares = std::strcmp(text, "none") != 0;
    result.opens = result.shares && std::strcmp(text, "closed") != 0;
  }
  return result;
}

}  // namespace

const Settings& settings() {
  static const Settings instance = read();
  return instance;
}

}  // namespace emulated_gpu
