#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
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
  /// Devices that share a group ask for groups in the same order.
  Communicator& of(const std::vector<std::int64_t>& members);

 private:
  Communicator& world_;
  std::map<std::vector<std::int64_t>, std::unique_ptr<Communicator>> groups_;
};

class Executable;

/// How far a device is, for a thread that watches it.
struct Progress {
  std::atomic<const Executable*> program{nullptr};  ///< that runs; null between two programs
  std::atomic<std::size_t> step{0};                 ///< of it
  std::atomic<std::uint64_t> count{0};              ///< programs done
};

/// The streams of a device that programs run on, one after the other. Whatever is bound to them is
/// gone only after drain().
struct ProgramStreams {
  explicit ProgramStreams(Device& device)
      : compute(device.make_stream()), communication(device.make_stream()) {}
  void drain() noexcept {
    compute->drain();
    communication->drain();
  }
  std::unique_ptr<Stream> compute;
  std::unique_ptr<Stream> communication;
  Progress progress;
};

/// Where the kernels of a device read all stored samples of a field of the data.
using SamplesOf = std::function<const std::byte*(const std::string& field)>;

/// A plan bound to memory and streams: pointers, primitives and communicators are fixed, run() only
/// enqueues them. The arena has at least plan.arena_bytes; all that is given outlives the
/// executable.
class Executable {
 public:
  /// One call of run().
  struct Step {
    ValueId value = kNoValue;  ///< what it computes, the first of several; a variable it fills
    Launch launch;
    std::vector<ValueId> values;           ///< that are in their places after it, and not before
    std::vector<PreparedCall*> under_way;  ///< collectives, to be given a hand after it
  };

  Executable(const Plan& plan, Backend& backend, ProgramStreams& streams,
             CommunicatorGroups& groups, std::byte* arena, const SamplesOf& samples = {});

  /// Enqueues the program on the streams. The compute stream ends behind all of it. From the second
  /// time on it is one piece of work, where the device can record it and no host has a part in it.
  void run() const;

  /// The same, and calls `after` with the number of each step that has been enqueued.
  template <class After>
  void run(const After& after) const {
    constexpr auto kRelaxed = std::memory_order_relaxed;
    Progress& progress = streams_.progress;
    progress.program.store(this, kRelaxed);
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      progress.step.store(i, kRelaxed);
      steps_[i].launch();
      for (PreparedCall* call : steps_[i].under_way) call->poll();
      after(i);
    }
    progress.program.store(nullptr, kRelaxed);
    progress.count.fetch_add(1, kRelaxed);
  }

  /// What a step computes: "all_reduce of hidden_1".
  std::string describe(std::size_t step) const;

  /// In the order of run(), for those who time or trace them one by one.
  const std::vector<Step>& steps() const { return steps_; }
  const Plan& plan() const { return plan_; }

  /// Device memory of a value: inputs are copied there before run(), outputs from there after it,
  /// on the compute stream.
  TensorView view(ValueId id) const;
  /// The graph input called `name`; the data is null if the program has none.
  TensorView input(std::string_view name) const;
  TensorView output(std::string_view name) const;

 private:
  void bind(const Instruction& instruction);
  Launch copy(const FinalCopy& copy) const;
  Launch kernel(const Instruction& instruction, ValueId id) const;
  Launch fusion(const Instruction& instruction) const;
  Launch start(const Instruction& instruction);
  Launch finish(const Instruction& instruction);
  CollectiveCall call_of(const Instruction& instruction) const;
  Event& event(int number) const { return *events_[static_cast<std::size_t>(number)]; }
  void add(ValueId value, Launch launch, const std::vector<ValueId>& values);

  const Plan& plan_;
  Backend& backend_;
  ProgramStreams& streams_;
  CommunicatorGroups& groups_;
  std::byte* arena_;
  std::map<ValueId, std::byte*> samples_;  ///< which no kernel writes
  std::vector<Step> steps_;
  std::vector<std::unique_ptr<Event>> events_;          ///< by number
  std::map<int, std::unique_ptr<PreparedCall>> calls_;  ///< by the instruction that starts them
  std::vector<PreparedCall*> under_way_;                ///< after the step added last
  mutable std::int64_t runs_ = 0;
  mutable Launch recorded_;  ///< all steps; null: they are enqueued one by one
};

/// Scratch bytes that `backend` wants for a kernel or a fusion group, 0 for what is no kernel; an
/// Error if it has none for the op.
std::int64_t kernel_workspace(const Backend& backend, const Graph& program,
                              const Instruction& instruction);

}  // namespace meshwork
