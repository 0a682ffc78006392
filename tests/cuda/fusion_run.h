#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/backend.h"
#include "support/host_tensor.h"

namespace meshwork::testing {

using BindFusion = std::function<Launch(const FusionGroup& group, Stream& stream)>;

/// What the members that others read leave where the group's pointers, of the host, show; where
/// they show the same place, so do those on the device. The host's memory stays as it is.
/// `shifted`: each value begins one element behind where the device aligns to. `bind`: instead of
/// the backend's.
std::vector<HostTensor> run_fusion(Backend& backend, const FusionGroup& group, bool shifted = false,
                                   const BindFusion& bind = nullptr);

/// The same of passes side by side, in the order of the passes.
std::vector<HostTensor> run_passes(Backend& backend, std::span<const FusionGroup> passes,
                                   bool shifted = false);

/// "" if all bits are the same, but for those of NaN; else the first element that differs.
std::string bit_difference(const HostTensor& a, const HostTensor& b);

/// Checks that all results are alike: to the bit, or where sums are taken in another order, to 1e-5
/// of the greatest element, 1e-2 of floats of 16 bits.
void check_same(const std::vector<HostTensor>& found, const std::vector<HostTensor>& expected);
void check_near(const std::vector<HostTensor>& found, const std::vector<HostTensor>& expected);

/// Whether a GPU gives other bits for an op: of functions of a library, or by rounding once where
/// processors round twice.
bool rounds_otherwise(std::string_view op);

/// Numbers of all sizes that squares are not too small or large for, and special ones among them;
/// of whole numbers the largest and smallest.
HostTensor wild_tensor(const TensorType& type, std::uint64_t seed);

}  // namespace meshwork::testing
