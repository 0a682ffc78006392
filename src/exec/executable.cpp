#include "exec/executable.h"

#include <cstring>

#include "base/check.h"
#include "base/error.h"
#include "graph/op_def.h"

namespace meshwork {
namespace {

Reduction reduction_of(const Node& node) {
  return node.attrs.text("reduction") == "max" ? Reduction::kMax : Reduction::kSum;
}

/// The links of an instruction; which of them others read is not yet said.
template <class View>
ChainArgs chain_args(const Graph& program, const Instruction& instruction, const View& view) {
  ChainArgs args;
  std::map<ValueId, std::size_t> inputs, links;
  for (const ValueId id : instruction.nodes) links.emplace(id, links.size());
  for (const ValueId id : instruction.nodes) {
    for (const ValueId input : program.node(id).inputs) {
      if (links.contains(input) || inputs.contains(input)) continue;
      inputs.emplace(input, args.inputs.size());
      args.inputs.push_back(view(input));
    }
  }
  for (const ValueId id : instruction.nodes) {
    const Node& node = program.node(id);
    ChainArgs::Link link{node.op->name, node.attrs, {}, view(id), false};
    for (const ValueId input : node.inputs) {
      const auto found = links.find(input);
      link.operands.push_back(found != links.end() ? inputs.size() + found->second
                                                   : inputs.at(input));
    }
    args.links.push_back(std::move(link));
  }
  return args;
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
    const bool is_joined = instruction.nodes.size() > 1;
    if (op.collective != Collective::kNone) {
      steps_.push_back({id, is_joined ? joined_all_reduce(instruction) : collective(id)});
    } else if (is_joined) {
      steps_.push_back({id, chain(instruction)});
    } else if (!op.view) {
      steps_.push_back({id, kernel(instruction, id)});
    }
  }
  for (const FinalCopy& copy : plan.copies) {
    const TensorView from = view(copy.from);
    const TensorView to = view(copy.variable);
    const auto bytes = static_cast<std::size_t>(num_bytes(from.type));
    steps_.push_back(
        {copy.variable, [from, to, bytes] { std::memmove(to.data, from.data, bytes); }});
  }
}

TensorView Executable::view(ValueId id) const {
  const auto i = static_cast<std::size_t>(id);
  const bool has_place = plan_.offsets[i] != Plan::kNoPlace;
  return {.type = plan_.program.type(id),
          .window = plan_.program.windows[i],
          .data = has_place ? arena_ + plan_.offsets[i] : nullptr};
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
  return find_kernel(backend_, node.op->name, node.path).bind(args);
}

Launch Executable::chain(const Instruction& instruction) const {
  ChainArgs args = chain_args(plan_.program, instruction, [this](ValueId id) { return view(id); });
  for (ChainArgs::Link& link : args.links) link.is_read = link.output.data != nullptr;
  args.workspace = arena_ + instruction.workspace;
  return backend_.bind_chain(args);
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

std::int64_t kernel_workspace(const Backend& backend, const Graph& program,
                              const Instruction& instruction) {
  const auto view = [&](ValueId id) {
    return TensorView{.type = program.type(id),
                      .window = program.windows[static_cast<std::size_t>(id)],
                      .data = nullptr};
  };
  if (instruction.nodes.size() > 1) {
    return backend.chain_workspace(chain_args(program, instruction, view));
  }
  const ValueId id = instruction.nodes.front();
  const Node& node = program.node(id);
  const KernelDef& kernel = find_kernel(backend, node.op->name, node.path);
  if (kernel.workspace == nullptr) return 0;
  KernelArgs args{.inputs = {}, .output = view(id), .attrs = node.attrs, .workspace = nullptr};
  for (const ValueId input : node.inputs) args.inputs.push_back(view(input));
  return kernel.workspace(args);
}

}  // namespace meshwork
