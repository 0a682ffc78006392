#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "backend/backend.h"
#include "comm/communicator.h"
#include "exec/idle_threads.h"
#include "graph/views.h"
#include "plan/plan.h"

namespace meshwork {

/// The communicators of one device, made once for every set of members that some program names.
class CommunicatorGroups {
 public:
  explicit CommunicatorGroups(Communicator& world) : world_(world) {}
  Communicator& world() const { return world_; }
  /// Devices that share a group ask for groups in the same order.
  Communicator& of(const std::vector<std::int64_t>& members);

 private:
  Communicator& world_;
  std::map<std::vector<std::int64_t>, std::unique_ptr<Communicator>> groups_;
};

/// Memory of graph inputs, where it is not that of the plan.
using InputPlaces = std::map<ValueId, std::byte*>;

/// Memory that programs over the same variables share, one after the other.
struct Arena {
  std::shared_ptr<std::byte> memory;
  std::int64_t runs = 0;  ///< of all programs
};

/// A plan bound to memory: pointers, primitives and communicators are fixed, run() only calls them.
/// The arena has at least plan.arena_bytes; backend, groups and arena outlive the executable.
class Executable {
 public:
  /// One call of run().
  struct Step {
    ValueId value = kNoValue;  ///< what it computes, the first of several; a variable it fills
    Launch launch;
    std::vector<PreparedCall*> under_way;  ///< collectives, to be given a hand after it
  };

  Executable(const Plan& plan, Backend& backend, CommunicatorGroups& groups, Arena& arena);
  /// The same program, which outlives this one and runs in turn with it, with inputs elsewhere than
  /// in the arena; no collective reads these. Other devices need not know.
  Executable(const Executable& program, InputPlaces places);

  void run() const {
    ++arena_.runs;
    run({0, steps_.size()});
  }

  /// run(), in which threads of the device that have nothing to do for some microseconds call
  /// `idle`, at the same time, until it returns false. It does not throw.
  void run(const std::function<bool()>& idle) const;
  /// Whether they ever have.
  bool has_idle_threads() const { return !idle_.empty(); }

  /// In the order of run(), for those who time or trace them one by one.
  const std::vector<Step>& steps() const { return steps_; }
  const Plan& plan() const { return plan_; }

  /// Memory of a value: inputs are filled before run(), outputs read after it.
  TensorView view(ValueId id) const;
  /// The graph input called `name`; the data is null if the program has none.
  TensorView input(std::string_view name) const;
  TensorView output(std::string_view name) const;

 private:
  void run(StepRange range) const {
    for (std::size_t i = range.begin; i < range.end; ++i) {
      steps_[i].launch();
      for (PreparedCall* call : steps_[i].under_way) call->poll();
    }
  }
  void bind(const Instruction& instruction);
  bool reads_elsewhere(ValueId id) const { return places_.contains(viewed(plan_.program, id)); }
  bool is_only_view(const Instruction& instruction) const {
    return instruction.nodes.size() == 1 && is_view(plan_.program, instruction.nodes.front());
  }
  Launch computation(const Instruction& instruction) const;
  Launch copy(const FinalCopy& copy) const;
  Launch kernel(const Instruction& instruction, ValueId id) const;
  Launch chain(const Instruction& instruction) const;
  Launch start(const Instruction& instruction);
  Launch finish(const Instruction& instruction);
  CollectiveCall call_of(ValueId id) const;
  CollectiveCall joined_all_reduce(const Instruction& instruction) const;
  void add(ValueId value, Launch launch);

  const Plan& plan_;
  Backend& backend_;
  CommunicatorGroups& groups_;
  Arena& arena_;
  InputPlaces places_;
  std::vector<Step> steps_;
  std::vector<StepRange> idle_;  ///< in which threads are idle for long enough
  std::map<int, std::unique_ptr<PreparedCall>> calls_;  ///< by the instruction that starts them
  std::vector<PreparedCall*> under_way_;                ///< after the step added last
};

/// Scratch bytes that `backend` wants for a kernel or a chain; an Error if it has none for the op.
std::int64_t kernel_workspace(const Backend& backend, const Graph& program,
                              const Instruction& instruction);

}  // namespace meshwork
