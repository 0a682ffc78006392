#include "machine/identity.h"

#include <xxhash.h>

#include <fstream>
#include <random>
#include <string>

namespace meshwork {

std::int64_t process_mark() {
  static const std::int64_t mark = [] {
    std::random_device random;
    return static_cast<std::int64_t>(std::uint64_t{random()} << 32U | random());
  }();
  return mark;
}

std::int64_t machine_identity() {
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  return boot.empty() ? process_mark()
                      : static_cast<std::int64_t>(XXH3_64bits(boot.data(), boot.size()));
}

}  // namespace meshwork
