#include "exec/executable.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "base/local_work.h"
#include "exec/collective_call.h"
#include "exec/kernel_args.h"
#include "graph/fusible.h"
#include "graph/op_def.h"
#include "graph/views.h"
#include "plan/pass_constants.h"

namespace meshwork {
namespace {

/// What nodes are that the compiler has put together.
FusionGroup::Kind kind_of(const Graph& program, std::span<const ValueId> nodes) {
  const bool is_pass = std::ranges::any_of(
      nodes, [&](ValueId id) { return is_fusible(program, id) || is_number(program, id); });
  if (is_pass) return FusionGroup::Kind::kPass;
  return nodes.size() > 1 ? FusionGroup::Kind::kSiblings : FusionGroup::Kind::kNode;
}

/// Nodes of a fusion group as its members; which of them others read is not yet said.
template <class View>
FusionGroup fusion_args(const Graph& program, std::span<const ValueId> nodes, const View& view) {
  FusionGroup args{.kind = kind_of(program, nodes), .inputs = {}, .members = {}};
  std::map<ValueId, std::size_t> inputs, members;
  for (const ValueId id : nodes) members.emplace(id, members.size());
  for (const ValueId id : nodes) {
    for (const ValueId input : program.node(id).inputs) {
      if (members.contains(input) || inputs.contains(input)) continue;
      inputs.emplace(input, args.inputs.size());
      args.inputs.push_back(view(input));
    }
  }
  for (const ValueId id : nodes) {
    const Node& node = program.node(id);
    FusionGroup::Member member{node.op->name, node.attrs, {}, view(id), false};
    for (const ValueId input : node.inputs) {
      const auto found = members.find(input);
      member.operands.push_back(found != members.end() ? inputs.size() + found->second
                                                       : inputs.at(input));
    }
    args.members.push_back(std::move(member));
  }
  check_kind(args);
  return args;
}

/// Of a fusion: its groups side by side.
template <class View>
std::vector<FusionGroup> groups_of(const Graph& program, const Instruction& instruction,
                                   const View& view) {
  std::vector<FusionGroup> groups;
  std::span<const ValueId> nodes = instruction.nodes;
  for (; !nodes.empty(); nodes = nodes.subspan(instruction.nodes_of_pass())) {
    groups.push_back(fusion_args(program, nodes.first(instruction.nodes_of_pass()), view));
  }
  return groups;
}

/// The same without places: memory is asked for alike before there is any, and when it is there.
std::vector<FusionGroup> unplaced_groups(const Graph& program, const Instruction& instruction) {
  return groups_of(program, instruction, [&](ValueId id) { return unplaced(program, id); });
}

}  // namespace

Communicator& CommunicatorGroups::of(const std::vector<std::int64_t>& members) {
  auto& group = groups_[members];
  if (group == nullptr) group = world_.group(std::vector<int>(members.begin(), members.end()));
  return *group;
}

Executable::Executable(const Plan& plan, Backend& backend, ProgramStreams& streams,
                       CommunicatorGroups& groups, std::byte* arena, const SamplesOf& samples)
    : plan_(plan), backend_(backend), streams_(streams), groups_(groups), arena_(arena) {
  for (const ValueId id : plan.program.ids()) {
    const Node& node = plan.program.node(id);
    if (node.op->leaf != Leaf::kSamples) continue;
    samples_[id] = const_cast<std::byte*>(samples(node.attrs.text("name")));
  }
  for (int i = 0; i < plan.events; ++i) events_.push_back(backend.device().make_event());
  for (const Instruction& instruction : plan.instructions) bind(instruction);
  for (const FinalCopy& copy : plan.copies) {
    add(copy.variable, this->copy(copy), {copy.variable});
  }
  reserve_marks();
  const LocalWork work;  // here the host waits for the compiler of a GPU
  streams_.compute->prepare();
}

void Executable::bind(const Instruction& instruction) {
  if (instruction.kind == Instruction::Kind::kFinish) {
    const auto& call = plan_.instructions[static_cast<std::size_t>(instruction.started)];
    add(call.nodes.front(), finish(instruction), call.nodes, &instruction,
        calls_.at(instruction.started).get());
    return;
  }
  const ValueId id = first_result(plan_.program, instruction);
  const bool is_several = instruction.nodes.size() > 1;
  if (instruction.kind == Instruction::Kind::kStart) {
    Launch launch = start(instruction);
    add(id, std::move(launch), {}, &instruction, under_way_.back());
  } else if (is_several || !is_view(plan_.program, id)) {
    const LocalWork work;  // kernels of a GPU are written here
    add(id, is_several ? fusion(instruction) : kernel(instruction, id), instruction.nodes,
        &instruction);
  }
}

Launch Executable::copy(const FinalCopy& copy) const {
  const TensorView from = view(copy.from);
  const TensorView to = view(copy.variable);
  return [&stream = *streams_.compute, from, to] {
    stream.copy(to.data, from.data, num_bytes(from.type));
  };
}

void Executable::add(ValueId value, Launch launch, const std::vector<ValueId>& values,
                     const Instruction* instruction, PreparedCall* call) {
  steps_.push_back({value, std::move(launch), values, under_way_, instruction, call});
}

TensorView Executable::view(ValueId id) const {
  const std::int64_t offset = plan_.offsets[id];
  TensorView view = unplaced(plan_.program, id);
  if (offset != Plan::kNoPlace) view.data = arena_ + offset;
  if (const auto found = samples_.find(id); found != samples_.end()) view.data = found->second;
  return view;
}

TensorView Executable::input(std::string_view name) const {
  const ValueId id = input_value(plan_.program, name);
  return id == kNoValue ? TensorView{} : view(id);
}

TensorView Executable::output(std::string_view name) const {
  return view(output_value(plan_.program, name));
}

void check_inputs(const Graph& program, const std::vector<std::string>& given) {
  for (const Node& node : program.nodes) {
    if (node.op->leaf != Leaf::kInput) continue;
    const std::string& name = node.attrs.text("name");
    MW_CHECK(std::ranges::count(given, name) > 0, "nobody gives input '{}'", name);
  }
}

Launch Executable::kernel(const Instruction& instruction, ValueId id) const {
  const Node& node = plan_.program.node(id);
  KernelArgs args = kernel_args(plan_.program, id, [this](ValueId value) { return view(value); });
  args.workspace = arena_ + instruction.workspace;
  return backend_.bind(find_kernel(backend_, node.op->name, node.path), args, *streams_.compute);
}

Launch Executable::fusion(const Instruction& instruction) const {
  std::vector<FusionGroup> groups =
      groups_of(plan_.program, instruction, [this](ValueId id) { return view(id); });
  std::vector<std::int64_t> scratch{0};
  if (groups.size() > 1)
    scratch = backend_.passes_workspace(unplaced_groups(plan_.program, instruction));
  for (std::size_t i = 0; i < groups.size(); ++i) {
    for (FusionGroup::Member& member : groups[i].members) {
      member.is_read = member.output.data != nullptr;
    }
    groups[i].workspace = arena_ + instruction.workspace + scratch[i];
  }
  if (groups.size() > 1) return backend_.bind_passes(groups, *streams_.compute);
  return backend_.bind_fusion(groups.front(), *streams_.compute);
}

/// Of all-reduces in place: their operands are there, or are copied there.
CollectiveCall Executable::call_of(const Instruction& instruction) const {
  const std::vector<ValueId>& nodes = instruction.nodes;
  CollectiveCall call = collective_call(plan_.program, nodes, backend_.device().target());
  call.recv = view(nodes.front()).data;
  const bool in_place = call.kind == CollectiveCall::Kind::kAllReduce;
  call.send = in_place ? call.recv : view(plan_.program.node(nodes.front()).inputs[0]).data;
  return call;
}

Launch Executable::start(const Instruction& instruction) {
  struct Part {
    const std::byte* from;
    std::byte* to;
    std::int64_t bytes;
  };
  std::vector<Part> parts;
  const Node& first = plan_.program.node(instruction.nodes.front());
  const bool reduces = first.op->collective == Collective::kAllReduce;
  for (const ValueId id : instruction.nodes) {
    const TensorView from = view(plan_.program.node(id).inputs[0]);
    if (reduces) parts.push_back({from.data, view(id).data, num_bytes(from.type)});
  }
  std::erase_if(parts, [](const Part& part) { return part.from == part.to; });
  auto& call = calls_[static_cast<int>(&instruction - plan_.instructions.data())];
  call =
      groups_.of(first.collective->members).prepare(call_of(instruction), *streams_.communication);
  under_way_.push_back(call.get());
  return [call = call.get(), parts, &compute = *streams_.compute,
          &communication = *streams_.communication, &ready = event(instruction.ready),
          &done = event(instruction.done)] {
    for (const Part& part : parts) compute.copy(part.to, part.from, part.bytes);
    compute.record(ready);
    communication.wait_for(ready);
    call->start();
    communication.record(done);
  };
}

Launch Executable::finish(const Instruction& instruction) {
  PreparedCall* call = calls_.at(instruction.started).get();
  std::erase(under_way_, call);
  return
      [call, others = under_way_, &compute = *streams_.compute, &done = event(instruction.done)] {
        call->wait(others);
        compute.wait_for(done);
      };
}

std::int64_t kernel_workspace(const Backend& backend, const Graph& program,
                              const Instruction& instruction) {
  if (instruction.nodes.empty()) return 0;
  if (is_collective(program.node(instruction.nodes.front()))) return 0;
  const auto view = [&](ValueId id) { return unplaced(program, id); };
  if (instruction.nodes.size() > 1) {
    const std::vector<FusionGroup> groups = unplaced_groups(program, instruction);
    return groups.size() > 1 ? backend.passes_workspace(groups).back()
                             : backend.fusion_workspace(groups.front());
  }
  const ValueId id = instruction.nodes.front();
  const Node& node = program.node(id);
  const KernelDef& kernel = find_kernel(backend, node.op->name, node.path);
  return backend.workspace(kernel, kernel_args(program, id, view));
}

}  // namespace meshwork
