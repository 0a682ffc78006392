#include "plan/calls.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "graph/most_bytes.h"
#include "graph/op_def.h"

namespace meshwork {
namespace {

/// Which all-reduces and reduce-scatters go together. Those that no collective waits for are late:
/// nothing but updates and outputs does, so they fill buckets; so do gradients that collectives of
/// updates wait for, such as those of norms or of weights. Other all-reduces, if small, join those
/// that can start before the first result of any of them is read.
class Grouping {
 public:
  Grouping(const Graph& program, const Target& target, const Units& units)
      : program_(program),
        target_(target),
        awaited_by_(program.nodes.size(), Awaited::kByNone),
        is_second_(program.nodes.size(), false),
        first_reader_(program.nodes.size(), std::numeric_limits<ValueId>::max()) {
    for (ValueId end = program.end(); end > 0;) {
      const ValueId begin = units.begin(end - 1);
      Awaited by = Awaited::kByNone;
      for (ValueId id = begin; id < end; ++id) by = std::max({by, awaited_by_[id], as_waiting(id)});
      for (ValueId id = begin; id < end; ++id) {
        for (const ValueId input : program.node(id).inputs) {
          awaited_by_[input] = std::max(awaited_by_[input], by);
          first_reader_[input] = begin;
        }
      }
      end = begin;
    }
    find_second_ones(units);
  }

  std::vector<Call> run() {
    std::vector<ValueId> late;
    for (const ValueId id : program_.ids()) {
      const Node& node = program_.node(id);
      if (!is_collective(node)) continue;
      if (fills_buckets(id)) {
        late.push_back(id);
      } else if (node.op->collective == Collective::kAllReduce) {
        join(id);
      } else {
        calls_.push_back({.nodes = {id}});
      }
    }
    std::stable_sort(late.begin(), late.end(),
                     [&](ValueId a, ValueId b) { return operand(a) < operand(b); });
    fill_buckets(late);
    return std::move(calls_);
  }

 private:
  /// What all-reduces must have in common to be one, and reduce-scatters to be of one bucket.
  /// Buckets close in this order. Those that wait for others, as norms do for gradients, do not go
  /// with these.
  using Key = std::tuple<Collective, DType, std::vector<std::int64_t>, std::string_view, bool>;
  Key key_of(ValueId id) const {
    const Node& node = program_.node(id);
    return {node.op->collective, node.type.dtype, node.collective->axes,
            to_string(node.collective->reduction), is_second_[id]};
  }

  /// Of its operand, on the device that has most.
  std::int64_t operand_bytes(ValueId id) const {
    const Node& node = program_.node(id);
    const bool is_scattered = node.op->collective == Collective::kReduceScatter;
    return most_bytes(node) * (is_scattered ? std::ssize(node.collective->counts) : 1);
  }

  bool fills_buckets(ValueId id) const {
    const Collective kind = program_.node(id).op->collective;
    return (kind == Collective::kAllReduce || kind == Collective::kReduceScatter) && is_late(id);
  }

  void find_second_ones(const Units& units) {
    const auto comes_behind = [&](ValueId input) {
      return is_second_[input] || fills_buckets(input);
    };
    for (ValueId begin = 0; begin < program_.end(); begin = units.end(begin)) {
      bool is_second = false;
      for (ValueId id = begin; id < units.end(begin); ++id) {
        is_second = is_second || std::ranges::any_of(program_.node(id).inputs, comes_behind);
      }
      for (ValueId id = begin; id < units.end(begin); ++id) is_second_[id] = is_second;
    }
  }

  /// Which collectives wait for a value.
  enum class Awaited { kByNone, kByUpdates, kByOthers };

  Awaited as_waiting(ValueId id) const {
    const Node& node = program_.node(id);
    if (!is_collective(node)) return Awaited::kByNone;
    return node.phase == Phase::kUpdate ? Awaited::kByUpdates : Awaited::kByOthers;
  }

  bool is_late(ValueId id) const {
    const bool is_update = program_.node(id).phase == Phase::kUpdate;
    return awaited_by_[id] < (is_update ? Awaited::kByUpdates : Awaited::kByOthers);
  }

  ValueId operand(ValueId id) const { return program_.node(id).inputs[0]; }

  void join(ValueId id) {
    const Node& node = program_.node(id);
    const bool small = most_bytes(node) <= target_.small_message;
    const auto open = open_.find(key_of(id));
    if (small && open != open_.end() && operand(id) < open->second.read) {
      calls_[open->second.call].nodes.push_back(id);
      open->second.read = std::min(open->second.read, first_reader_[id]);
      return;
    }
    if (small) open_[key_of(id)] = {calls_.size(), first_reader_[id]};
    calls_.push_back({.nodes = {id}});
  }

  /// `late`: in the order of their operands. A call has them the other way round: gradients as the
  /// forward pass has their weights, so that stacks of products may stand in it.
  void fill_buckets(const std::vector<ValueId>& late) {
    struct Bucket {
      std::vector<ValueId> nodes;
      std::int64_t bytes = 0;
    };
    std::map<Key, Bucket> open;
    std::vector<std::vector<ValueId>> closed;
    for (const ValueId id : late) {
      Bucket& bucket = open[key_of(id)];
      bucket.nodes.push_back(id);
      bucket.bytes += operand_bytes(id);
      if (bucket.bytes >= target_.bucket) {
        closed.push_back(std::move(bucket.nodes));
        open.erase(key_of(id));
      }
    }
    for (auto& [key, bucket] : open) closed.push_back(std::move(bucket.nodes));
    std::ranges::stable_sort(
        closed, {}, [&](const std::vector<ValueId>& nodes) { return operand(nodes.back()); });
    for (std::size_t b = 0; b < closed.size(); ++b) add_bucket(std::move(closed[b]), b);
  }

  void add_bucket(std::vector<ValueId> nodes, std::size_t number) {
    const int bucket = static_cast<int>(number);
    if (program_.node(nodes.front()).op->collective == Collective::kReduceScatter) {
      for (const ValueId id : nodes) calls_.push_back({.nodes = {id}, .bucket = bucket});
    } else {
      std::ranges::reverse(nodes);
      calls_.push_back({.nodes = std::move(nodes), .bucket = bucket});
    }
  }

  struct Open {
    std::size_t call;
    ValueId read;  ///< the first reader of any of its results
  };

  const Graph& program_;
  const Target& target_;
  ValueMap<Awaited> awaited_by_;
  ValueMap<bool> is_second_;  ///< needs what a late all-reduce gives
  ValueMap<ValueId> first_reader_;
  std::vector<Call> calls_;
  std::map<Key, Open> open_;
};

}  // namespace

std::vector<Call> group_collectives(const Graph& program, const Target& target,
                                    const Units& units) {
  return Grouping(program, target, units).run();
}

}  // namespace meshwork
