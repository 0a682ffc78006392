#include "backend/backend.h"
#include "base/check.h"
#include "base/error.h"

namespace meshwork {
namespace {

std::int64_t padded_bytes(const Backend& backend, const TensorType& type) {
  return backend.device().target().aligned(num_bytes(type));
}

/// The kernel of a link, with what others do not read in the workspace.
KernelArgs args_of(const Backend& backend, const ChainArgs& chain, std::vector<TensorView>& values,
                   std::size_t link, std::int64_t& used) {
  const ChainArgs::Link& l = chain.links[link];
  KernelArgs args{.inputs = {}, .output = l.output, .attrs = l.attrs, .workspace = nullptr};
  for (const std::size_t operand : l.operands) args.inputs.push_back(values.at(operand));
  if (!l.is_read) {
    args.output.data = chain.workspace == nullptr ? nullptr : chain.workspace + used;
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

Launch bind_links(const Backend& backend, const ChainArgs& chain, Stream& stream) {
  std::vector<TensorView> values = chain.inputs;
  std::int64_t used = 0;
  std::vector<Launch> launches;
  for (std::size_t i = 0; i < chain.links.size(); ++i) {
    const KernelDef& kernel = find_kernel(backend, chain.links[i].op, "a chain");
    const KernelArgs args = args_of(backend, chain, values, i, used);
    MW_CHECK(kernel.workspace == nullptr || kernel.workspace(args) == 0,
             "'{}' is no op for a chain", kernel.op);
    launches.push_back(backend.bind(kernel, args, stream));
  }
  return [launches] {
    for (const Launch& launch : launches) launch();
  };
}

std::int64_t links_workspace(const Backend& backend, const ChainArgs& chain) {
  std::int64_t bytes = 0;
  for (const ChainArgs::Link& link : chain.links) {
    if (!link.is_read) bytes += padded_bytes(backend, link.output.type);
  }
  return bytes;
}

}  // namespace meshwork
