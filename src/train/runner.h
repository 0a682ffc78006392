#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/names.h"
#include "data/loader.h"
#include "job/session.h"
#include "model/model.h"
#include "train/bound_program.h"
#include "train/json_numbers.h"
#include "train/logs.h"
#include "train/step_ring.h"
#include "train/trace.h"

namespace meshwork {

/// Steps that have changed no weight, because the optimizer scales the loss and their gradients
/// were not all finite.
struct StepsLeftOut {
  std::int64_t all = 0;
  std::int64_t without_loss = 0;  ///< those of them whose loss was no number
  std::int64_t first = 0;         ///< of these, from 1
};

/// Threads that decode and augment for a device: its share of the cores, which a GPU leaves idle,
/// and a CPU needs itself while no batch is ready.
int reader_threads(const Job& job);

/// Runs the programs of one kind over the batches of one split, and keeps Keras's running means of
/// what they put out: the loss weighted by the size of the batch, metrics by their counts. A step
/// is enqueued; whoever asks for numbers waits for them.
class Runner {
 public:
  Runner(const Session& session, ProgramKind kind, const data::Split& split);
  /// Copies to and from its staging memory may be under way.
  ~Runner() { session_.stream().drain(); }
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  /// One step, on the next batch of the loader, whose size it returns. `iteration` counts steps
  /// from 0 over the whole run: where the optimizer accumulates gradients over several, it says
  /// whether this one is an update.
  std::int64_t step(data::Loader& loader, std::int64_t iteration = 0, double learning_rate = 0);
  /// The first part of it: the next batch of the loader, and copies of its large fields to where
  /// the program reads them.
  const data::Batch& fill(data::Loader& loader, std::int64_t iteration = 0);
  /// A step on a batch in staging memory, which stays until the loss is asked for.
  void step(const data::Batch& batch, std::int64_t iteration = 0, double learning_rate = 0);

  /// Steps from now on are recorded there; nullptr: they are not.
  void set_trace(StepTrace* trace) { trace_ = trace; }

  /// The loss of the last step.
  double loss();
  /// The means since reset(), without the steps that left_out() counts as without a loss; if there
  /// are no others, the loss of the last. A metric without samples is 0.
  Logs logs();
  /// The first step since reset(), from 1, whose loss was no number and that was not left out.
  std::optional<std::int64_t> bad_step();
  /// Since reset().
  StepsLeftOut left_out();
  void reset();
  /// The sums behind these means, and back: an epoch that goes on in another run.
  Json state();
  /// Returns the names of metrics whose sums the state does not have: they begin at 0.
  std::vector<std::string> restore(const Json& state);

  /// An output of the last step that is no scalar.
  TensorView output(const std::string& name) const;

  /// How a loader gives the split once, as it stands, in batches for the programs.
  data::LoaderOptions in_order() const;
  /// Where it puts batches, for copies to the device.
  data::StagingMemory staging_memory() const;

  /// Which part of each field this device wants, for a loader; of one that no program reads,
  /// nothing.
  data::PartOf parts() const;

 private:
  struct Mean {
    LoggedValue logged;
    std::vector<std::string> outputs = {};  ///< of the programs, whose elements are added up
    std::vector<double> sums = {0, 0};      ///< total and count, or what the metric counts
  };

  BoundProgram bind(const Executable& executable) const;
  const BoundProgram& bound(const ProgramKey& key) const;
  const BoundProgram& bound_for(std::int64_t batch, std::int64_t iteration) const;
  void upload(const BoundProgram& bound, const data::Batch& batch);
  void give(const BoundProgram& bound, const data::Batch& batch, std::int64_t iteration,
            float learning_rate);
  void run(const data::Batch& batch, std::int64_t iteration, double learning_rate);
  void end_of(HostPart part) {
    if (trace_ != nullptr) trace_->end_of(part);
  }
  void add_results(std::int64_t batch, std::span<const float> results);
  bool is_left_out(bool taken);
  void name_results();
  void name_result(const Graph& graph, const NamedValue& output,
                   const std::map<std::string, LoggedValue>& logged);

  const Session& session_;
  ProgramKind kind_;
  std::vector<data::Field> fields_;  ///< of the split
  std::int64_t steps_per_update_ = 1;
  std::map<ProgramKey, BoundProgram> bound_;
  /// Of the copies of the last two batches: while one is under way the host has the next read.
  std::array<std::unique_ptr<Event>, 2> uploaded_;
  std::size_t next_upload_ = 0;
  std::optional<StepRing> ring_;
  const BoundProgram* last_ = nullptr;
  StepTrace* trace_ = nullptr;
  bool has_loss_ = false, tells_taken_ = false;  ///< the programs
  std::int64_t steps_ = 0;                       ///< finished since reset()
  StepsLeftOut left_out_;
  std::optional<std::int64_t> bad_step_;
  double loss_ = 0;
  Mean loss_mean_{.logged = {names::kLoss}};
  std::vector<Mean> means_;  ///< of the metrics
};

}  // namespace meshwork
