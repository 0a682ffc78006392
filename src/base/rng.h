#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace meshwork {

/// Philox4x32-10 (Salmon et al., SC'11): 128 random bits for a key and a 128-bit counter.
/// Nothing is carried from draw to draw, so any device can draw any element.
std::array<std::uint32_t, 4> philox(std::uint64_t key, std::uint64_t counter_high,
                                    std::uint64_t counter_low);

/// The key of a stream of random numbers: the run's seed and the path of what draws them.
std::uint64_t random_key(std::uint64_t seed, std::string_view path);

/// Element `index` (global, row-major) of the uniform [0, 1) tensor drawn at `step`; 24 bits.
float uniform_at(std::uint64_t key, std::uint64_t step, std::uint64_t index);

/// Element `index` of the standard normal tensor drawn at `step` (Box-Muller).
float normal_at(std::uint64_t key, std::uint64_t step, std::uint64_t index);

/// As normal_at, redrawn until |z| < 2 (Keras's TruncatedNormal).
float truncated_normal_at(std::uint64_t key, std::uint64_t step, std::uint64_t index);

}  // namespace meshwork
