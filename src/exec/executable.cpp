#include "exec/executable.h"

#include <cstring>

#include "base/check.h"
#include "base/error.h"
#include "graph/op_def.h"

namespace meshwork {
namespace {

const KernelDef& find_kernel(const Backend& backend, const Node& node) {
  const KernelDef* kernel = backend.find(node.op->name);
  if (kernel == nullptr) {
    fail("no {} kernel for op '{}' ({})", backend.name(), node.op->name, node.path);
  }
  return *kernel;
}

Reduction reduction_of(const Node& node) {
  return node.attrs.text("reduction") == "max" ? Reduction::kMax : Reduction::kSum;
}

}  // namespace

Communicator& CommunicatorGroups::of(const std::vector<std::int64_t>& members) {
  auto& group = groups_[members];
  if (group == nullptr) group = world_.group(std::vector<int>(members.begin(), members.end()));
  return *group;
}

Executable::Executable(const Plan& plan, Backend& backend, CommunicatorGroups& groups,
                       std::byte* arena)
    : plan_(plan), backend_(backend), groups_(groups), arena_(arena) {
  for (const Instruction& instruction : plan.instructions) {
    const ValueId id = instruction.nodes.front();
    const OpDef& op = *plan.program.node(id).op;
    if (instruction.nodes.size() > 1) {
      launches_.push_back(joined_all_reduce(instruction));
    } else if (op.collective != Collective::kNone) {
      launches_.push_back(collective(id));
    } else if (!op.view) {
      launches_.push_back(kernel(instruction, id));
    }
  }
  for (const FinalCopy& copy : plan.copies) {
    const TensorView from = view(copy.from);
    const TensorView to = view(copy.variable);
    const auto bytes = static_cast<std::size_t>(num_bytes(from.type));
    launches_.push_back([from, to, bytes] { std::memmove(to.data, from.data, bytes); });
  }
}

TensorView Executable::view(ValueId id) const {
  const auto i = static_cast<std::size_t>(id);
  return {.type = plan_.program.type(id),
          .window = plan_.program.windows[i],
          .data = arena_ + plan_.offsets[i]};
}

TensorView Executable::input(std::string_view name) const {
  for (ValueId id = 0; id < static_cast<ValueId>(plan_.program.nodes.size()); ++id) {
    const Node& node = plan_.program.node(id);
    if (node.op->name == "input" && node.attrs.text("name") == name) return view(id);
  }
  return {};
}

TensorView Executable::output(std::string_view name) const {
  return view(output_value(plan_.program, name));
}

Launch Executable::kernel(const Instruction& instruction, ValueId id) const {
  const Node& node = plan_.program.node(id);
  KernelArgs args{.inputs = {},
                  .output = view(id),
                  .attrs = node.attrs,
                  .workspace = arena_ + instruction.workspace};
  for (const ValueId input : node.inputs) args.inputs.push_back(view(input));
  return find_kernel(backend_, node).bind(args);
}

Launch Executable::collective(ValueId id) const {
  const Node& node = plan_.program.node(id);
  Communicator& group = groups_.of(node.attrs.integers("members"));
  const std::byte* send = view(node.inputs[0]).data;
  std::byte* recv = view(id).data;
  const DType dtype = node.type.dtype;
  switch (node.op->collective) {
    case Collective::kNone:
      break;
    case Collective::kAllReduce:
      return [&group, send, recv, dtype, count = num_elements(node.type.shape),
              reduction = reduction_of(node)] {
        group.all_reduce(send, recv, count, dtype, reduction);
      };
    case Collective::kReduceScatter:
      return [&group, send, recv, dtype, counts = node.attrs.integers("counts"),
              reduction = reduction_of(node)] {
        group.reduce_scatter(send, recv, counts, dtype, reduction);
      };
    case Collective::kAllGather:
      return [&group, send, recv, dtype, counts = node.attrs.integers("counts")] {
        group.all_gather(send, recv, counts, dtype);
      };
    case Collective::kAllToAll:
      return [&group, send, recv, dtype, send_counts = node.attrs.integers("send_counts"),
              recv_counts = node.attrs.integers("recv_counts")] {
        group.all_to_all(send, send_counts, recv, recv_counts, dtype);
      };
  }
  MW_CHECK(false, "'{}' is no collective", node.op->name);
  return {};
}

Launch Executable::joined_all_reduce(const Instruction& instruction) const {
  struct Part {
    const std::byte* from;
    std::byte* to;
    std::size_t bytes;
  };
  std::vector<Part> parts;
  std::int64_t count = 0;
  for (const ValueId id : instruction.nodes) {
    const Node& node = plan_.program.node(id);
    parts.push_back(
        {view(node.inputs[0]).data, view(id).data, static_cast<std::size_t>(num_bytes(node.type))});
    count += num_elements(node.type.shape);
  }
  const Node& node = plan_.program.node(instruction.nodes.front());
  Communicator& group = groups_.of(node.attrs.integers("members"));
  std::byte* buffer = arena_ + instruction.workspace;
  return [&group, parts, buffer, count, dtype = node.type.dtype, reduction = reduction_of(node)] {
    std::byte* place = buffer;
    for (const Part& part : parts) {
      std::memcpy(place, part.from, part.bytes);
      place += part.bytes;
    }
    group.all_reduce(buffer, buffer, count, dtype, reduction);
    place = buffer;
    for (const Part& part : parts) {
      std::memcpy(part.to, place, part.bytes);
      place += part.bytes;
    }
  };
}

std::int64_t kernel_workspace(const Backend& backend, const Graph& program, const Node& node) {
  const KernelDef& kernel = find_kernel(backend, node);
  if (kernel.workspace == nullptr) return 0;
  const auto view = [&](ValueId id) {
    return TensorView{.type = program.type(id),
                      .window = program.windows[static_cast<std::size_t>(id)],
                      .data = nullptr};
  };
  KernelArgs args{.inputs = {}, .output = {}, .attrs = node.attrs, .workspace = nullptr};
  for (const ValueId input : node.inputs) args.inputs.push_back(view(input));
  args.output = {.type = node.type, .window = {}, .data = nullptr};
  const auto id = static_cast<ValueId>(&node - program.nodes.data());
  args.output = view(id);
  return kernel.workspace(args);
}

}  // namespace meshwork
