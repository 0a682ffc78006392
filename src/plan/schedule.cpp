#include <algorithm>
#include <span>
#include <utility>

#include "base/check.h"
#include "base/index.h"
#include "graph/most_bytes.h"
#include "graph/op_def.h"
#include "graph/readers.h"
#include "graph/views.h"
#include "plan/ahead.h"
#include "plan/calls.h"
#include "plan/plan.h"

namespace meshwork {
namespace {

class Scheduler {
 public:
  Scheduler(const Graph& program, const Target& target, const ValueMap<int>& fusion)
      : program_(program),
        target_(target),
        before_(predecessors(program)),
        units_(program, fusion),
        calls_(group_collectives(program, target, units_)),
        call_of_(program.nodes.size(), -1),
        stage_(program.nodes.size(), -1),
        there_(program.nodes.size(), false),
        waiting_(program.nodes.size()) {
    if (target.prefetch > 0) ahead_ = gathers_ahead(program, before_, calls_, units_);
    for (const int c : ahead_) calls_[index(c)].is_ahead = true;
    for (std::size_t c = 0; c < calls_.size(); ++c) {
      for (const ValueId id : calls_[c].nodes) {
        call_of_[id] = static_cast<int>(c);
        for (const ValueId before : waits_for(id)) {
          if (is_leaf(program.node(before))) continue;
          ++calls_[c].missing;
          waiting_[before].push_back(static_cast<int>(c));
        }
      }
      const int bucket = calls_[c].bucket;
      if (bucket < 0) continue;
      if (bucket >= std::ssize(buckets_)) buckets_.resize(index(bucket) + 1);
      buckets_[index(bucket)].push_back(static_cast<int>(c));
    }
    find_stages();
  }

  std::vector<Instruction> run() {
    for (const ValueId id : program_.ids()) {
      if (is_leaf(program_.node(id))) there_[id] = true;
    }
    start_ahead();
    for (const ValueId id : program_.ids()) {
      if (stage_[id] >= 0) continue;
      if (call_of_[id] >= 0) {
        reach(id);
      } else {
        need(id);
      }
    }
    emit_stage(static_cast<int>(buckets_.size()));
    for (std::size_t c = 0; c < calls_.size(); ++c) finish(static_cast<int>(c));
    return std::move(result_);
  }

 private:
  ValueId root(ValueId id) const { return viewed(program_, id); }

  /// As soon as its operand is there; what is there from the beginning, or the copy of it in 16
  /// bits, would otherwise be moved, and fill memory, long before it is used.
  bool starts_early(ValueId id) const {
    const ValueId operand = root(id_of_operand(id));
    return !is_leaf(program_.node(operand)) && !is_weight(program_, operand);
  }
  ValueId id_of_operand(ValueId id) const { return program_.node(id).inputs[0]; }

  /// What a collective waits for: its operand, if it starts early, and what edges say; of one that
  /// may start at any time nothing.
  std::span<const ValueId> waits_for(ValueId id) const {
    const std::span<const ValueId> before = before_[id];
    if (calls_[index(call_of_[id])].is_ahead) return {};
    return starts_early(id) ? before : before.subspan(program_.node(id).inputs.size());
  }

  /// stage_[v]: the last bucket that v depends on; -1: none, it stands where the program has it.
  void find_stages() {
    for (ValueId begin = 0; begin < program_.end(); begin = units_.end(begin)) {
      if (bucket_of(begin) >= 0) continue;
      int stage = -1;
      for (ValueId id = begin; id < units_.end(begin); ++id) {
        for (const ValueId before : before_[id]) {
          stage = std::max({stage, bucket_of(before), stage_[before]});
        }
      }
      std::fill(stage_.begin() + begin, stage_.begin() + units_.end(begin), stage);
    }
  }

  int bucket_of(ValueId id) const {
    const int c = call_of_[id];
    return c < 0 ? -1 : calls_[index(c)].bucket;
  }

  /// Comes to a collective that depends on no bucket.
  void reach(ValueId id) {
    const int c = call_of_[id];
    Call& call = calls_[index(c)];
    if (call.started >= 0 || call.is_ahead) return;
    need(id_of_operand(id));
    if (call.missing == 0) start(c);
  }

  /// Emits what gives `id`, if it is not there.
  void need(ValueId id) {
    if (there_[id]) return;
    const int c = call_of_[id];
    if (c >= 0) {
      for (const ValueId node : calls_[index(c)].nodes) {
        for (const ValueId before : before_[node]) need(before);
      }
      start(c);
      return finish(c);
    }
    Instruction instruction;
    for (ValueId node = units_.begin(id); node < units_.end(id); ++node) {
      for (const ValueId before : before_[node]) {
        if (units_.begin(before) != units_.begin(id)) need(before);
      }
      instruction.nodes.push_back(node);
    }
    if (there_[id]) return;  // it came with a stage that could begin meanwhile
    result_.push_back(instruction);
    arrive(instruction.nodes);
  }

  /// All are there before any call starts, which may begin a stage that needs them.
  void arrive(const std::vector<ValueId>& nodes) {
    for (const ValueId id : nodes) there_[id] = true;
    for (const ValueId id : nodes) start_what_waits_for(id);
  }

  void start_what_waits_for(ValueId id) {
    for (const int c : waiting_[id]) {
      if (--calls_[index(c)].missing > 0) continue;
      for (const ValueId node : calls_[index(c)].nodes) need(id_of_operand(node));
      holds_starts_ ? hold(c) : start(c);
    }
  }

  /// Updated weights go out some at a time, so that what is launched for them can be one kernel.
  void hold(int c) {
    held_.push_back(c);
    held_bytes_ += bytes_of(calls_[index(c)]);
    if (held_bytes_ >= target_.bucket) start_held();
  }

  void start_held() {
    held_bytes_ = 0;
    for (const int c : std::exchange(held_, {})) start(c);
  }

  void start(int c) {
    Call& call = calls_[index(c)];
    if (call.started >= 0) return;
    call.started = static_cast<int>(result_.size());
    result_.push_back({.kind = Instruction::Kind::kStart, .nodes = call.nodes});
    if (call.is_ahead) ahead_bytes_ += bytes_of(call);
    if (call.bucket < 0) return;
    // While this one is under way, the updates of those before it.
    while (next_bucket_ < std::ssize(buckets_) && is_started(next_bucket_)) ++next_bucket_;
    if (next_bucket_ > 1) emit_stage(static_cast<int>(next_bucket_) - 1);
  }

  bool is_started(std::ptrdiff_t bucket) const {
    return std::ranges::all_of(buckets_[index(bucket)],
                               [&](int c) { return calls_[index(c)].started >= 0; });
  }

  void finish(int c) {
    Call& call = calls_[index(c)];
    if (call.finished) return;
    MW_CHECK(call.started >= 0, "%{} is not started", call.nodes.front());
    call.finished = true;
    result_.push_back({.kind = Instruction::Kind::kFinish, .nodes = {}, .started = call.started});
    arrive(call.nodes);
    if (!call.is_ahead) return;
    ahead_bytes_ -= bytes_of(call);
    start_ahead();
  }

  /// Starts the gathers of weights that are read next, of which one is under way or as many bytes
  /// as the target fetches ahead; several at a time, so that what goes into them is launched
  /// together. All devices start the same.
  void start_ahead() {
    if (2 * ahead_bytes_ > target_.prefetch) return;
    std::vector<int> next;
    for (std::int64_t bytes = ahead_bytes_; next_ahead_ < ahead_.size(); ++next_ahead_) {
      const Call& call = calls_[index(ahead_[next_ahead_])];
      if (call.started >= 0) continue;
      bytes += bytes_of(call);
      if (bytes > target_.prefetch && bytes > bytes_of(call)) break;
      next.push_back(ahead_[next_ahead_]);
    }
    for (const int c : next) {
      for (const ValueId id : calls_[index(c)].nodes) need(id_of_operand(id));
    }
    for (const int c : next) start(c);
  }

  /// Of what a call gives, on the device that has most.
  std::int64_t bytes_of(const Call& call) const {
    std::int64_t bytes = 0;
    for (const ValueId id : call.nodes) bytes += most_bytes(program_.node(id));
    return bytes;
  }

  /// Emits what depends on the first `buckets` buckets only, and may be written already.
  /// Collectives among it start where their operands are there.
  void emit_stage(int buckets) {
    const bool last = buckets == std::ssize(buckets_);
    const bool held_before = std::exchange(holds_starts_, target_.launch_bytes > 0);
    for (const ValueId id : program_.ids()) {
      const int stage = stage_[id];
      if (stage < 0 || stage >= buckets || there_[id] || call_of_[id] >= 0) continue;
      if (last || is_ready(id)) need(id);
    }
    holds_starts_ = held_before;
    if (!holds_starts_) start_held();
  }

  /// Whether the unit of `id` can be emitted without haste: what it waits for is there.
  bool is_ready(ValueId id) const {
    for (ValueId node = units_.begin(id); node < units_.end(id); ++node) {
      const std::size_t inputs = program_.node(node).inputs.size();
      for (std::size_t i = 0; i < before_[node].size(); ++i) {
        const ValueId before = before_[node][i];
        const bool is_inside = units_.begin(before) == units_.begin(id);
        const bool is_late = i >= inputs || stage_[before] >= 0;
        if (!is_inside && is_late && !there_[before]) return false;
      }
    }
    return true;
  }

  const Graph& program_;
  const Target& target_;
  ValueMap<std::vector<ValueId>> before_;  ///< nodes that must run before each
  Units units_;
  std::vector<Call> calls_;
  ValueMap<int> call_of_;                  ///< index in calls_, -1: no collective
  std::vector<std::vector<int>> buckets_;  ///< calls, by number of the bucket
  ValueMap<int> stage_;
  ValueMap<bool> there_;
  ValueMap<std::vector<int>> waiting_;  ///< calls that start when this value is there
  std::ptrdiff_t next_bucket_ = 0;      ///< the first that is not started
  bool holds_starts_ = false;           ///< of what updates give
  std::vector<int> held_;               ///< calls whose operands are there
  std::int64_t held_bytes_ = 0;         ///< that they give
  std::vector<int> ahead_;              ///< calls that may start at any time, as they are read
  std::size_t next_ahead_ = 0;          ///< the first of them that has not been considered
  std::int64_t ahead_bytes_ = 0;        ///< that they give, of those that are under way
  std::vector<Instruction> result_;
};

/// Every node is of one instruction.
void check_nodes(const Plan& plan) {
  ValueMap<bool> is_there(plan.program.nodes.size(), false);
  for (const Instruction& instruction : plan.instructions) {
    for (const ValueId id : instruction.nodes) {
      MW_CHECK(!is_there[id], "%{} = {} stands twice", id, plan.program.node(id).op->name);
      is_there[id] = true;
    }
  }
  for (const ValueId id : plan.program.ids()) {
    const Node& node = plan.program.node(id);
    MW_CHECK(is_there[id] || is_leaf(node), "%{} = {} stands nowhere", id, node.op->name);
  }
}

void number_events(Plan& plan) {
  for (Instruction& instruction : plan.instructions) {
    if (instruction.kind == Instruction::Kind::kStart) {
      instruction.ready = plan.events++;
      instruction.done = plan.events++;
    } else if (instruction.kind == Instruction::Kind::kFinish) {
      instruction.done = plan.instructions[index(instruction.started)].done;
    }
  }
}

}  // namespace

void schedule(Plan& plan, const Target& target, const ValueMap<int>& fusion) {
  plan.instructions = Scheduler(plan.program, target, fusion).run();
  check_nodes(plan);
  number_events(plan);
}

}  // namespace meshwork
