#pragma once

#include <string>
#include <vector>

namespace meshwork {

/// The path without the numbers that Keras gives to all but the first of a kind:
/// "stage_2/block_1/d1/kernel" -> "stage/block/d1/kernel". Paths that are alike have the same.
std::string without_numbers(const std::string& path);

/// Two paths that are alike as one, with * where they differ: "stage_1/block*/d1/kernel". The first
/// may be what this has given before.
std::string joined(const std::string& a, const std::string& b);

/// A regular expression that matches paths that are alike, "stage_1/block(_\d+)?/d1/kernel", and
/// others that are alike to them at most.
std::string pattern_of(const std::vector<std::string>& paths);

}  // namespace meshwork
