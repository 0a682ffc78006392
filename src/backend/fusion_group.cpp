#include "backend/backend.h"
#include "base/check.h"
#include "base/error.h"

namespace meshwork {
namespace {

std::int64_t padded_bytes(const Backend& backend, const TensorType& type) {
  return backend.device().target().aligned(num_bytes(type));
}

/// The kernel of a member, with what others do not read in the workspace.
KernelArgs args_of(const Backend& backend, const FusionGroup& fusion,
                   std::vector<TensorView>& values, std::size_t member, std::int64_t& used) {
  const FusionGroup::Member& l = fusion.members[member];
  KernelArgs args{.inputs = {}, .output = l.output, .attrs = l.attrs, .workspace = nullptr};
  for (const std::size_t operand : l.operands) args.inputs.push_back(values.at(operand));
  if (!l.is_read) {
    args.output.data = fusion.workspace == nullptr ? nullptr : fusion.workspace + used;
    used += padded_bytes(backend, l.output.type);
  }
  values.push_back(args.output);
  return args;
}

}  // namespace

const KernelDef& find_kernel(const Backend& backend, std::string_view op, const std::string& path) {
  const KernelDef* kernel = backend.find(op);
  if (kernel == nullptr)
    fail("no {} kernel for op '{}' ({})", backend.device().target().name, op, path);
  return *kernel;
}

Launch bind_members(const Backend& backend, const FusionGroup& fusion, Stream& stream) {
  std::vector<TensorView> values = fusion.inputs;
  std::int64_t used = 0;
  std::vector<Launch> launches;
  for (std::size_t i = 0; i < fusion.members.size(); ++i) {
    const KernelDef& kernel = find_kernel(backend, fusion.members[i].op, "a fusion group");
    const KernelArgs args = args_of(backend, fusion, values, i, used);
    MW_CHECK(kernel.workspace == nullptr || kernel.workspace(args) == 0,
             "'{}' is no op for a fusion group", kernel.op);
    launches.push_back(backend.bind(kernel, args, stream));
  }
  return [launches] {
    for (const Launch& launch : launches) launch();
  };
}

std::int64_t members_workspace(const Backend& backend, const FusionGroup& fusion) {
  std::int64_t bytes = 0;
  for (const FusionGroup::Member& member : fusion.members) {
    if (!member.is_read) bytes += padded_bytes(backend, member.output.type);
  }
  return bytes;
}

}  // namespace meshwork
