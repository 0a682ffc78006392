#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace meshwork::testing {

/// Zeroed memory at addresses that nobody may touch: `to_local` says where the same bytes can be.
/// It installs a handler that tells who touches them, and ends the process.
std::shared_ptr<std::byte> allocate_remote(std::int64_t bytes);

/// The touchable address of a remote one; nullptr for nullptr. Of any other a broken invariant.
std::byte* to_local(const std::byte* remote);

}  // namespace meshwork::testing
