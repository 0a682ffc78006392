#include <algorithm>
#include <limits>
#include <map>
#include <span>
#include <tuple>

#include "base/check.h"
#include "graph/op_def.h"
#include "graph/readers.h"
#include "graph/views.h"
#include "plan/plan.h"

namespace meshwork {
namespace {

bool is_collective(const Node& node) { return node.op->collective != Collective::kNone; }

/// What all-reduces must have in common to be one. Buckets close in this order.
using Key = std::tuple<DType, std::vector<std::int64_t>, std::string_view>;
Key key_of(const Node& node) {
  return {node.type.dtype, node.collective->members, to_string(node.collective->reduction)};
}

/// Collectives that go out as one, in the order of their operands.
struct Call {
  std::vector<ValueId> nodes;
  int bucket = -1;          ///< its number among the buckets, in the order of their last operands
  std::size_t missing = 0;  ///< operands that are not there yet
  int started = -1;         ///< instruction
  bool finished = false;
};

/// The nodes of a program in the ranges in which they are computed: single ones and fusions.
class Units {
 public:
  Units(const Graph& program, const ValueMap<int>& fusion) {
    for (const ValueId id : program.ids()) {
      const bool goes_on = id > 0 && !fusion.empty() && fusion[id] == fusion[id - 1];
      begin_.push_back(goes_on ? begin_.back() : id);
    }
    end_.resize(program.nodes.size(), program.end());
    for (ValueId id = program.end() - 2; id >= 0; --id) {
      end_[id] = begin(id) == begin(id + 1) ? end_[id + 1] : id + 1;
    }
  }

  /// Of the unit that `id` belongs to.
  ValueId begin(ValueId id) const { return begin_[id]; }
  ValueId end(ValueId id) const { return end_[id]; }

 private:
  ValueMap<ValueId> begin_;
  ValueMap<ValueId> end_;
};

/// Which all-reduces go together. Those on which no other collective depends are late: nothing
/// but updates and outputs waits for them, so they fill buckets. Others, if small, join those that
/// can start before the first result of any of them is read.
class Grouping {
 public:
  Grouping(const Graph& program, const Target& target, const Units& units)
      : program_(program),
        target_(target),
        feeds_collective_(program.nodes.size(), false),
        first_reader_(program.nodes.size(), std::numeric_limits<ValueId>::max()) {
    for (ValueId end = program.end(); end > 0;) {
      const ValueId begin = units.begin(end - 1);
      bool feeds = false;
      for (ValueId id = begin; id < end; ++id) {
        feeds = feeds || feeds_collective_[id] || is_collective(program.node(id));
      }
      for (ValueId id = begin; id < end; ++id) {
        for (const ValueId input : program.node(id).inputs) {
          if (feeds) feeds_collective_[input] = true;
          first_reader_[input] = begin;
        }
      }
      end = begin;
    }
  }

  std::vector<Call> run() {
    std::vector<ValueId> late;
    for (const ValueId id : program_.ids()) {
      const Node& node = program_.node(id);
      if (!is_collective(node)) continue;
      if (node.op->collective != Collective::kAllReduce) {
        calls_.push_back({.nodes = {id}});
      } else if (!feeds_collective_[id]) {
        late.push_back(id);
      } else {
        join(id);
      }
    }
    std::stable_sort(late.begin(), late.end(),
                     [&](ValueId a, ValueId b) { return operand(a) < operand(b); });
    fill_buckets(late);
    return std::move(calls_);
  }

 private:
  ValueId operand(ValueId id) const { return program_.node(id).inputs[0]; }

  void join(ValueId id) {
    const Node& node = program_.node(id);
    const bool small = num_bytes(node.type) <= target_.small_message;
    const auto open = open_.find(key_of(node));
    if (small && open != open_.end() && operand(id) < open->second.read) {
      calls_[open->second.call].nodes.push_back(id);
      open->second.read = std::min(open->second.read, first_reader_[id]);
      return;
    }
    if (small) open_[key_of(node)] = {calls_.size(), first_reader_[id]};
    calls_.push_back({.nodes = {id}});
  }

  /// `late`: in the order of their operands. A bucket has them the other way round: gradients as
  /// the forward pass has their weights, so that stacks of products may stand in it.
  void fill_buckets(const std::vector<ValueId>& late) {
    struct Bucket {
      Call call;
      std::int64_t bytes = 0;
    };
    std::map<Key, Bucket> open;
    std::vector<Call> closed;
    for (const ValueId id : late) {
      const Node& node = program_.node(id);
      Bucket& bucket = open[key_of(node)];
      bucket.call.nodes.push_back(id);
      bucket.bytes += num_bytes(node.type);
      if (bucket.bytes >= target_.bucket) {
        closed.push_back(std::move(bucket.call));
        open.erase(key_of(node));
      }
    }
    for (auto& [key, bucket] : open) closed.push_back(std::move(bucket.call));
    std::stable_sort(closed.begin(), closed.end(), [&](const Call& a, const Call& b) {
      return operand(a.nodes.back()) < operand(b.nodes.back());
    });
    for (Call& call : closed) {
      std::ranges::reverse(call.nodes);
      call.bucket = buckets_++;
      calls_.push_back(std::move(call));
    }
  }

  struct Open {
    std::size_t call;
    ValueId read;  ///< the first reader of any of its results
  };

  const Graph& program_;
  const Target& target_;
  ValueMap<bool> feeds_collective_;
  ValueMap<ValueId> first_reader_;
  std::vector<Call> calls_;
  std::map<Key, Open> open_;
  int buckets_ = 0;
};

class Scheduler {
 public:
  Scheduler(const Graph& program, const Target& target, const ValueMap<int>& fusion)
      : program_(program),
        before_(predecessors(program)),
        units_(program, fusion),
        calls_(Grouping(program, target, units_).run()),
        call_of_(program.nodes.size(), -1),
        stage_(program.nodes.size(), -1),
        there_(program.nodes.size(), false),
        waiting_(program.nodes.size()) {
    for (std::size_t c = 0; c < calls_.size(); ++c) {
      for (const ValueId id : calls_[c].nodes) {
        call_of_[id] = static_cast<int>(c);
        for (const ValueId before : waits_for(id)) {
          if (is_leaf(program.node(before))) continue;
          ++calls_[c].missing;
          waiting_[before].push_back(static_cast<int>(c));
        }
      }
      if (calls_[c].bucket >= 0) buckets_.push_back(static_cast<int>(c));
    }
    find_stages();
  }

  std::vector<Instruction> run() {
    for (const ValueId id : program_.ids()) {
      if (is_leaf(program_.node(id))) there_[id] = true;
    }
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

  /// As soon as its operand is there; what is there from the beginning would otherwise be moved,
  /// and fill memory, long before it is used.
  bool starts_early(ValueId id) const { return !is_leaf(program_.node(root(id_of_operand(id)))); }
  ValueId id_of_operand(ValueId id) const { return program_.node(id).inputs[0]; }

  /// What a collective waits for: its operand, if it starts early, and what edges say.
  std::span<const ValueId> waits_for(ValueId id) const {
    const std::span<const ValueId> before = before_[id];
    return starts_early(id) ? before : before.subspan(program_.node(id).inputs.size());
  }

  /// stage_[v]: the last bucket that v depends on; -1: none, it stands where the program has it.
  void find_stages() {
    for (ValueId begin = 0; begin < program_.end(); begin = units_.end(begin)) {
      if (call_of_[begin] >= 0) continue;
      int stage = -1;
      for (ValueId id = begin; id < units_.end(begin); ++id) {
        for (const ValueId before : before_[id]) {
          const int from = call_of_[before];
          stage = std::max(
              stage, from >= 0 ? calls_[static_cast<std::size_t>(from)].bucket : stage_[before]);
        }
      }
      std::fill(stage_.begin() + begin, stage_.begin() + units_.end(begin), stage);
    }
  }

  /// Comes to a collective that no later stage waits for.
  void reach(ValueId id) {
    const int c = call_of_[id];
    Call& call = calls_[static_cast<std::size_t>(c)];
    if (call.started >= 0) return;
    need(id_of_operand(id));
    if (call.missing == 0) start(c);
  }

  /// Emits what gives `id`, if it is not there.
  void need(ValueId id) {
    if (there_[id]) return;
    const int c = call_of_[id];
    if (c >= 0) {
      for (const ValueId node : calls_[static_cast<std::size_t>(c)].nodes) {
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
    result_.push_back(instruction);
    for (const ValueId node : instruction.nodes) arrive(node);
  }

  void arrive(ValueId id) {
    there_[id] = true;
    for (const int c : waiting_[id]) {
      if (--calls_[static_cast<std::size_t>(c)].missing > 0) continue;
      for (const ValueId node : calls_[static_cast<std::size_t>(c)].nodes)
        need(id_of_operand(node));
      start(c);
    }
  }

  void start(int c) {
    Call& call = calls_[static_cast<std::size_t>(c)];
    if (call.started >= 0) return;
    call.started = static_cast<int>(result_.size());
    result_.push_back({.kind = Instruction::Kind::kStart, .nodes = call.nodes});
    if (call.bucket < 0) return;
    // While this one is under way, the updates of those before it.
    while (next_bucket_ < std::ssize(buckets_) && is_started(next_bucket_)) ++next_bucket_;
    if (next_bucket_ > 1) emit_stage(next_bucket_ - 1);
  }

  bool is_started(std::ptrdiff_t bucket) const {
    const int c = buckets_[static_cast<std::size_t>(bucket)];
    return calls_[static_cast<std::size_t>(c)].started >= 0;
  }

  void finish(int c) {
    Call& call = calls_[static_cast<std::size_t>(c)];
    if (call.finished) return;
    MW_CHECK(call.started >= 0, "%{} is not started", call.nodes.front());
    call.finished = true;
    result_.push_back({.kind = Instruction::Kind::kFinish, .nodes = {}, .started = call.started});
    for (const ValueId id : call.nodes) arrive(id);
  }

  /// Emits what depends on the first `buckets` buckets only, and may be written already.
  void emit_stage(int buckets) {
    const bool last = buckets == std::ssize(buckets_);
    for (const ValueId id : program_.ids()) {
      const int stage = stage_[id];
      if (stage < 0 || stage >= buckets || there_[id]) continue;
      if (last || is_ready(id)) need(id);
    }
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
  ValueMap<std::vector<ValueId>> before_;  ///< nodes that must run before each
  Units units_;
  std::vector<Call> calls_;
  ValueMap<int> call_of_;     ///< index in calls_, -1: no collective
  std::vector<int> buckets_;  ///< calls, by number of the bucket
  ValueMap<int> stage_;
  ValueMap<bool> there_;
  ValueMap<std::vector<int>> waiting_;  ///< calls that start when this value is there
  std::ptrdiff_t next_bucket_ = 0;      ///< the first that is not started
  std::vector<Instruction> result_;
};

void number_events(Plan& plan) {
  for (Instruction& instruction : plan.instructions) {
    if (instruction.kind == Instruction::Kind::kStart) {
      instruction.ready = plan.events++;
      instruction.done = plan.events++;
    } else if (instruction.kind == Instruction::Kind::kFinish) {
      instruction.done = plan.instructions[static_cast<std::size_t>(instruction.started)].done;
    }
  }
}

}  // namespace

void schedule(Plan& plan, const Target& target, const ValueMap<int>& fusion) {
  plan.instructions = Scheduler(plan.program, target, fusion).run();
  number_events(plan);
}

}  // namespace meshwork
