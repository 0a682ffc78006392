#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "backend/backend.h"
#include "comm/communicator.h"
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

/// A plan bound to memory: pointers, primitives and communicators are fixed, run() only calls them.
/// The arena, of at least plan.arena_bytes, may be shared with other programs over the same
/// variables; backend, groups and arena outlive the executable.
class Executable {
 public:
  /// One call of run().
  struct Step {
    ValueId value = kNoValue;  ///< what it computes, the first of several; a variable it fills
    Launch launch;
    std::vector<PreparedCall*> under_way;  ///< collectives, to be given a hand after it
  };

  Executable(const Plan& plan, Backend& backend, CommunicatorGroups& groups, std::byte* arena);

  void run() const {
    for (const Step& step : steps_) {
      step.launch();
      for (PreparedCall* call : step.under_way) call->poll();
    }
  }
  /// In the order of run(), for those who time or trace them one by one.
  const std::vector<Step>& steps() const { return steps_; }
  const Plan& plan() const { return plan_; }

  /// Memory of a value: inputs are filled before run(), outputs read after it.
  TensorView view(ValueId id) const;
  /// The graph input called `name`; the data is null if the program has none.
  TensorView input(std::string_view name) const;
  TensorView output(std::string_view name) const;

 private:
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
  std::byte* arena_;
  std::vector<Step> steps_;
  std::map<int, std::unique_ptr<PreparedCall>> calls_;  ///< by the instruction that starts them
  std::vector<PreparedCall*> under_way_;                ///< after the step added last
};

/// Scratch bytes that `backend` wants for a kernel or a chain; an Error if it has none for the op.
std::int64_t kernel_workspace(const Backend& backend, const Graph& program,
                              const Instruction& instruction);

}  // namespace meshwork
