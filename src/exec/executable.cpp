#include "exec/executable.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "base/parallel.h"
#include "graph/op_def.h"
#include "graph/views.h"

namespace meshwork {
namespace {

Reduction reduction_of(const Node& node) {
  return node.attrs.text("reduction") == "max" ? Reduction::kMax : Reduction::kSum;
}

/// A value without its place.
TensorView unplaced(const Backend& backend, const Graph& program, ValueId id) {
  return {.type = program.type(id),
          .window = program.windows[static_cast<std::size_t>(id)],
          .data = nullptr,
          .panels = backend.reads_panels() ? panels_of(program, id) : 1};
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

Executable::Executable(const Plan& plan, Backend& backend, CommunicatorGroups& groups, Arena& arena)
    : plan_(plan), backend_(backend), groups_(groups), arena_(arena) {
  std::vector<double> idle;
  for (const Instruction& instruction : plan.instructions) {
    bind(instruction);
    idle.resize(steps_.size(), idle_seconds(backend, plan.program, instruction));
  }
  for (const FinalCopy& copy : plan.copies) add(copy.variable, this->copy(copy));
  idle_ = long_enough(idle);
}

Executable::Executable(const Executable& program, InputPlaces places)
    : plan_(program.plan_),
      backend_(program.backend_),
      groups_(program.groups_),
      arena_(program.arena_),
      places_(std::move(places)),
      steps_(program.steps_),
      idle_(program.idle_) {
  auto step = steps_.begin();
  for (const Instruction& instruction : plan_.instructions) {
    const bool is_kernel = instruction.kind == Instruction::Kind::kKernel;
    if (is_kernel && is_only_view(instruction)) continue;
    const bool reads =
        std::any_of(instruction.nodes.begin(), instruction.nodes.end(), [&](ValueId id) {
          const std::vector<ValueId>& inputs = plan_.program.node(id).inputs;
          return std::any_of(inputs.begin(), inputs.end(),
                             [&](ValueId input) { return reads_elsewhere(input); });
        });
    MW_CHECK(is_kernel || !reads, "a collective sends what has no place in the arena");
    if (reads) step->launch = computation(instruction);
    ++step;
  }
  for (const FinalCopy& copy : plan_.copies) {
    if (reads_elsewhere(copy.from)) step->launch = this->copy(copy);
    ++step;
  }
}

void Executable::bind(const Instruction& instruction) {
  if (instruction.kind == Instruction::Kind::kFinish) {
    const auto& call = plan_.instructions[static_cast<std::size_t>(instruction.started)];
    return add(call.nodes.front(), finish(instruction));
  }
  const ValueId id = instruction.nodes.front();
  if (instruction.kind == Instruction::Kind::kStart) {
    add(id, start(instruction));
  } else if (!is_only_view(instruction)) {
    add(id, computation(instruction));
  }
}

Launch Executable::computation(const Instruction& instruction) const {
  return instruction.nodes.size() > 1 ? chain(instruction)
                                      : kernel(instruction, instruction.nodes.front());
}

Launch Executable::copy(const FinalCopy& copy) const {
  const TensorView from = view(copy.from);
  const TensorView to = view(copy.variable);
  const auto bytes = static_cast<std::size_t>(num_bytes(from.type));
  return [from, to, bytes] { std::memmove(to.data, from.data, bytes); };
}

void Executable::run(const std::function<bool()>& idle) const {
  ++arena_.runs;
  std::size_t begin = 0;
  bool is_left = true;
  for (const StepRange& range : idle_) {
    run({begin, range.begin});
    begin = range.begin;
    if (!is_left) break;
    is_left = run_beside([&] { run(range); }, idle);
    begin = range.end;
  }
  run({begin, steps_.size()});
}

void Executable::add(ValueId value, Launch launch) {
  steps_.push_back({value, std::move(launch), under_way_});
}

TensorView Executable::view(ValueId id) const {
  const auto i = static_cast<std::size_t>(id);
  const bool has_place = plan_.offsets[i] != Plan::kNoPlace;
  const auto elsewhere = places_.find(viewed(plan_.program, id));
  std::byte* const data = elsewhere != places_.end() ? elsewhere->second
                          : has_place                ? arena_.memory.get() + plan_.offsets[i]
                                                     : nullptr;
  TensorView view = unplaced(backend_, plan_.program, id);
  view.data = data;
  return view;
}

TensorView Executable::input(std::string_view name) const {
  const ValueId id = input_value(plan_.program, name);
  return id == kNoValue ? TensorView{} : view(id);
}

TensorView Executable::output(std::string_view name) const {
  return view(output_value(plan_.program, name));
}

Launch Executable::kernel(const Instruction& instruction, ValueId id) const {
  const Node& node = plan_.program.node(id);
  KernelArgs args{.inputs = {},
                  .output = view(id),
                  .attrs = node.attrs,
                  .workspace = arena_.memory.get() + instruction.workspace};
  for (const ValueId input : node.inputs) args.inputs.push_back(view(input));
  return find_kernel(backend_, node.op->name, node.path).bind(args);
}

Launch Executable::chain(const Instruction& instruction) const {
  ChainArgs args = chain_args(plan_.program, instruction, [this](ValueId id) { return view(id); });
  for (ChainArgs::Link& link : args.links) link.is_read = link.output.data != nullptr;
  args.workspace = arena_.memory.get() + instruction.workspace;
  return backend_.bind_chain(args);
}

CollectiveCall Executable::call_of(ValueId id) const {
  const Node& node = plan_.program.node(id);
  CollectiveCall call{
      .send = view(node.inputs[0]).data, .recv = view(id).data, .dtype = node.type.dtype};
  switch (node.op->collective) {
    case Collective::kNone:
      break;
    case Collective::kAllReduce:
      call.count = num_elements(node.type.shape);
      call.reduction = reduction_of(node);
      return call;
    case Collective::kReduceScatter:
      call.kind = CollectiveCall::Kind::kReduceScatter;
      call.counts = node.attrs.integers("counts");
      call.reduction = reduction_of(node);
      return call;
    case Collective::kAllGather:
      call.kind = CollectiveCall::Kind::kAllGather;
      call.counts = node.attrs.integers("counts");
      return call;
    case Collective::kAllToAll:
      call.kind = CollectiveCall::Kind::kAllToAll;
      call.counts = node.attrs.integers("send_counts");
      call.recv_counts = node.attrs.integers("recv_counts");
      return call;
  }
  MW_CHECK(false, "'{}' is no collective", node.op->name);
  return call;
}

/// All results as one, in place; what stands between them is reduced, too.
CollectiveCall Executable::joined_all_reduce(const Instruction& instruction) const {
  CollectiveCall call = call_of(instruction.nodes.front());
  const TensorView last = view(instruction.nodes.back());
  const auto* end = last.data + num_bytes(last.type);
  call.send = call.recv;
  call.count =
      (end - static_cast<std::byte*>(call.recv)) / static_cast<std::ptrdiff_t>(size_of(call.dtype));
  return call;
}

Launch Executable::start(const Instruction& instruction) {
  struct Part {
    const std::byte* from;
    std::byte* to;
    std::size_t bytes;
  };
  std::vector<Part> parts;
  const Node& first = plan_.program.node(instruction.nodes.front());
  const bool reduces = first.op->collective == Collective::kAllReduce;
  for (const ValueId id : instruction.nodes) {
    const TensorView from = view(plan_.program.node(id).inputs[0]);
    const auto bytes = static_cast<std::size_t>(num_bytes(from.type));
    if (reduces && from.data != view(id).data) parts.push_back({from.data, view(id).data, bytes});
  }
  auto& call = calls_[static_cast<int>(&instruction - plan_.instructions.data())];
  call =
      groups_.of(first.attrs.integers("members"))
          .prepare(reduces ? joined_all_reduce(instruction) : call_of(instruction.nodes.front()));
  under_way_.push_back(call.get());
  return [call = call.get(), parts] {
    for (const Part& part : parts) std::memcpy(part.to, part.from, part.bytes);
    call->start();
  };
}

Launch Executable::finish(const Instruction& instruction) {
  PreparedCall* call = calls_.at(instruction.started).get();
  std::erase(under_way_, call);
  return [call, others = under_way_] { call->wait(others); };
}

std::int64_t kernel_workspace(const Backend& backend, const Graph& program,
                              const Instruction& instruction) {
  const auto view = [&](ValueId id) { return unplaced(backend, program, id); };
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
