#include "machine/identity.h"

#include <xxhash.h>

#include <fstream>
#include <random>
#include <string>

namespace meshwork {

std::int64_t machine_identity() {
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  if (!boot.empty()) return static_cast<std::int64_t>(XXH3_64bits(boot.data(), boot.size()));
  static const std::int64_t chance = [] {
    std::random_device random;
    return static_cast<std::int64_t>(std::uint64_t{random()} << 32U | random());
  }();
  return chance;
}

}  // namespace meshwork
