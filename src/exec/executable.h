#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <iterator>
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
  /// Those of the last members first, on all devices: members go out of a group together.
  ~CommunicatorGroups() {
    while (!groups_.empty()) groups_.erase(std::prev(groups_.end()));
  }
  CommunicatorGroups(const CommunicatorGroups&) = delete;
  CommunicatorGroups& operator=(const CommunicatorGroups&) = delete;
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
  std::atomic<bool> computes{false};                ///< the host itself, and waits for nobody
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
  /// Programs by the first of their marks on the compute stream; all are below `next_mark`.
  std::map<std::int32_t, const Executable*> marked;
  std::int32_t next_mark = 1;
};

/// Where the device that has failed was in its programs, for the end of an error: "; it had come to
/// einsum of 'd1', and not to relu of 'd2'". "" where it has not failed, or was in none.
std::string place_of_failure(const ProgramStreams& streams);

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
    /// Of the plan; null: a copy into a variable behind all instructions.
    const Instruction* instruction = nullptr;
    PreparedCall* call = nullptr;  ///< the collective that starts or ends here
  };

  Executable(const Plan& plan, Backend& backend, ProgramStreams& streams,
             CommunicatorGroups& groups, std::byte* arena, const SamplesOf& samples = {});

  /// Enqueues the program on the streams. The compute stream ends behind all of it. From the second
  /// time on all steps between two at which devices exchange something are one recorded piece of
  /// work, where the device can record them.
  void run() const;

  /// The same, and calls `after` with the number of each step that has been enqueued.
  template <class After>
  void run(const After& after) const {
    begin();
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      enqueue(i);
      after(i);
    }
    end();
  }

  /// The same for those who trace: calls `launched` with the number of each step before it gives
  /// collectives a hand, and `polled` behind each of these, with the collective and whether it is
  /// complete.
  template <class Launched, class Polled>
  void run(const Launched& launched, const Polled& polled) const {
    begin();
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      compute(i);
      launched(i);
      for (PreparedCall* call : steps_[i].under_way) {
        const bool is_complete = call->poll();
        polled(i, *call, is_complete);
      }
    }
    end();
  }

  /// What a step computes: "all_reduce of 'hidden_1'".
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
  friend std::string place_of_failure(const ProgramStreams& streams);

  /// Steps that are enqueued as one.
  struct Piece {
    std::size_t begin, end;
    Launch launch;
  };

  void begin() const { streams_.progress.program.store(this, std::memory_order_relaxed); }
  void enqueue(std::size_t step) const;
  void compute(std::size_t step) const;
  void launch(std::size_t step) const;
  void record() const;
  void end() const;
  void reserve_marks();
  void bind(const Instruction& instruction);
  Launch copy(const FinalCopy& copy) const;
  Launch kernel(const Instruction& instruction, ValueId id) const;
  Launch fusion(const Instruction& instruction) const;
  Launch start(const Instruction& instruction);
  Launch finish(const Instruction& instruction);
  CollectiveCall call_of(const Instruction& instruction) const;
  Event& event(int number) const { return *events_[static_cast<std::size_t>(number)]; }
  void add(ValueId value, Launch launch, const std::vector<ValueId>& values,
           const Instruction* instruction = nullptr, PreparedCall* call = nullptr);

  const Plan& plan_;
  Backend& backend_;
  ProgramStreams& streams_;
  CommunicatorGroups& groups_;
  std::byte* arena_;
  bool computes_ = streams_.compute->is_immediate();  ///< the host does what steps launch
  std::map<ValueId, std::byte*> samples_;             ///< which no kernel writes
  std::vector<Step> steps_;
  std::vector<std::unique_ptr<Event>> events_;          ///< by number
  std::map<int, std::unique_ptr<PreparedCall>> calls_;  ///< by the instruction that starts them
  std::vector<PreparedCall*> under_way_;                ///< after the step added last
  std::int32_t first_mark_ = 0;
  mutable std::int64_t runs_ = 0;
  mutable std::vector<Piece> recorded_;  ///< in order; other steps are enqueued one by one
};

/// A broken invariant if the program has an input that is not among those which are given.
void check_inputs(const Graph& program, const std::vector<std::string>& given);

/// Scratch bytes that `backend` wants for a kernel or a fusion group, 0 for what is no kernel; an
/// Error if it has none for the op.
std::int64_t kernel_workspace(const Backend& backend, const Graph& program,
                              const Instruction& instruction);

}  // namespace meshwork
