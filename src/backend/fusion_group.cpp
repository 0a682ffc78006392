#include <algorithm>

#include "backend/backend.h"
#include "backend/in_turn.h"
#include "base/check.h"
#include "base/error.h"
#include "base/rounded_up.h"

namespace meshwork {
namespace {

std::int64_t padded_bytes(const Backend& backend, const TensorType& type) {
  return backend.device().target().aligned(num_bytes(type));
}

/// The kernels of the members: what others do not read stands in the workspace, and behind it the
/// scratch memory that they share.
std::vector<KernelArgs> args_of(const Backend& backend, const FusionGroup& fusion,
                                std::int64_t& used) {
  std::vector<TensorView> values = fusion.inputs;
  std::vector<KernelArgs> all;
  used = 0;
  const auto place = [&] {
    return fusion.workspace == nullptr ? nullptr : fusion.workspace + used;
  };
  for (const FusionGroup::Member& member : fusion.members) {
    KernelArgs& args = all.emplace_back();
    args.output = member.output;
    args.attrs = member.attrs;
    for (const std::size_t operand : member.operands) args.inputs.push_back(values.at(operand));
    if (!member.is_read) {
      args.output.data = place();
      used += padded_bytes(backend, member.output.type);
    }
    values.push_back(args.output);
  }
  for (KernelArgs& args : all) args.workspace = place();
  return all;
}

}  // namespace

void check_kind(const FusionGroup& group) {
  using Kind = FusionGroup::Kind;
  const std::size_t members = group.members.size(), inputs = group.inputs.size();
  const bool fits = group.kind == Kind::kPass       ? members > 0
                    : group.kind == Kind::kSiblings ? members > 1
                                                    : members == 1;
  MW_CHECK(fits, "{} members", members);
  for (std::size_t i = 0; i < members; ++i) {
    const std::size_t known = group.kind == Kind::kPass ? inputs + i : inputs;
    for (const std::size_t operand : group.members[i].operands) {
      MW_CHECK(operand < known, "'{}' reads {} of {}", group.members[i].op, operand, known);
    }
  }
}

const KernelDef& find_kernel(const Backend& backend, std::string_view op, std::string_view path) {
  const KernelDef* kernel = backend.find(op);
  if (kernel == nullptr)
    fail("no {} kernel for op '{}' ({})", backend.device().target().name, op, path);
  return *kernel;
}

Launch bind_members(const Backend& backend, const FusionGroup& fusion, Stream& stream) {
  std::int64_t used = 0;
  const std::vector<KernelArgs> args = args_of(backend, fusion, used);
  std::vector<Launch> launches;
  for (std::size_t i = 0; i < args.size(); ++i) {
    const KernelDef& kernel = find_kernel(backend, fusion.members[i].op, "a fusion group");
    launches.push_back(backend.bind(kernel, args[i], stream));
  }
  return in_turn(std::move(launches));
}

std::int64_t members_workspace(const Backend& backend, const FusionGroup& fusion) {
  std::int64_t used = 0;
  const std::vector<KernelArgs> args = args_of(backend, fusion, used);
  std::int64_t scratch = 0;
  for (std::size_t i = 0; i < args.size(); ++i) {
    const KernelDef& kernel = find_kernel(backend, fusion.members[i].op, "a fusion group");
    scratch = std::max(scratch, backend.workspace(kernel, args[i]));
  }
  return used + scratch;
}

Launch Backend::bind_passes(std::span<const FusionGroup> passes, Stream& stream) const {
  std::vector<Launch> launches;
  for (const FusionGroup& pass : passes) launches.push_back(bind_fusion(pass, stream));
  return in_turn(std::move(launches));
}

std::vector<std::int64_t> Backend::passes_workspace(std::span<const FusionGroup> passes) const {
  constexpr std::int64_t kAlignment = 256;  // for any device
  std::vector<std::int64_t> begins{0};
  for (const FusionGroup& pass : passes) {
    begins.back() = rounded_up(begins.back(), kAlignment);
    begins.push_back(begins.back() + fusion_workspace(pass));
  }
  return begins;
}

}  // namespace meshwork
