// attention(q, all k, all v) of a sequence that is cut -> attention(q, k of a member, v of it) for
// one member after the other, which sends its block to all: no device holds the keys and values of
// all, nor their gradients. With l the log_sum over some keys, what two blocks give becomes
//   l = log(exp(l1) + exp(l2)), y = exp(l1 - l) y1 + exp(l2 - l) y2
// always in the order of members (ring attention, Liu et al., 2023, in one order for all). Backward
// each block of keys and values is sent once more, and its gradients are summed by its owner.
// While one block is computed, the next one is under way; the one behind it waits for its place.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/block_counts.h"
#include "graph/attention_options.h"
#include "graph/op_def.h"
#include "ops/ops.h"
#include "rewrite/cut_attention.h"
#include "rewrite/insertions.h"
#include "rewrite/rewrite.h"

namespace meshwork {
namespace {

constexpr std::size_t kSteps = 1;   // the dimension of keys and values along which they are cut
constexpr std::size_t kAtOnce = 2;  // blocks: one in use, one under way

/// Of the keys and values of one member.
struct Block {
  std::size_t member = 0;
  ValueId keys = kNoValue, values = kNoValue;
};

/// Attention to some of the keys; y may be none.
struct Attended {
  ValueId y = kNoValue, log_sum = kNoValue;
};

Region without_last(Region region) {
  region.global.pop_back();
  region.offset.pop_back();
  return region;
}

class BlockByBlock {
 public:
  explicit BlockByBlock(Graph& program) : program_(program), insertions_(program) {}

  void run(const Target& target) {
    for (const CutAttention& cut : find_cut_attention(program_, target)) {
      cut_ = &cut;
      attend_all();
      differentiate_all();
    }
    insertions_.finish();
  }

 private:
  /// Nodes of the same are computed of the same blocks.
  using Operands = std::pair<std::vector<ValueId>, std::string>;
  Operands operands(ValueId id) const { return {node(id).inputs, to_string(node(id).attrs)}; }

  const Node& node(ValueId id) const { return program_.node(id); }
  const Shape& shape(ValueId id) const { return program_.type(id).shape; }
  const Region& region(ValueId id) const { return program_.regions[id]; }

  void attend_all() {
    std::map<Operands, ValueId> log_sums;
    for (const ValueId id : cut_->forward) {
      const Operands of = operands(id);
      const bool is_log_sum = node(id).op == &ops::kAttentionLogSum;
      if (const auto known = log_sums.find(of); is_log_sum && known != log_sums.end()) {
        become(id, known->second);
        continue;
      }
      const Attended all = attend(id);
      log_sums.try_emplace(of, all.log_sum);
      become(id, is_log_sum ? all.log_sum : all.y);
    }
  }

  Attended attend(ValueId id) {
    before_ = id;
    const bool wants_y = node(id).op == &ops::kAttention;
    const Node attention = with_wide_queries(id, kAttentionOperands);
    Attended all;
    for_each_block(attention.inputs[0], [&](const Block& block) {
      const std::vector<ValueId> of = operands_of(attention, kAttentionOperands, block);
      const Region lines = wants_y ? without_last(region(id)) : region(id);
      Shape line = shape(of[0]);
      line.pop_back();
      Attended now;
      if (wants_y) now.y = add(ops::kAttention, of, attention.attrs, shape(id), region(id));
      now.log_sum = add(ops::kAttentionLogSum, of, attention.attrs, line, lines);
      std::vector<ValueId> computed{now.log_sum};
      if (wants_y) computed.push_back(now.y);
      // Else all blocks would be merged in one pass, and what each gives kept until then.
      order({wants_y ? all.y : all.log_sum}, computed);
      all = block.member == 0 ? now : merged(all, now);
      return computed;
    });
    return all;
  }

  /// Over the keys of both.
  Attended merged(const Attended& one, const Attended& other) {
    const ValueId max = elementwise(ops::kMaximum, {one.log_sum, other.log_sum});
    const auto part = [&](const Attended& of) {
      return elementwise(ops::kExp, {elementwise(ops::kSubtract, {of.log_sum, max})});
    };
    const ValueId a = part(one), b = part(other);
    const ValueId sum = elementwise(ops::kAdd, {a, b});
    Attended result;
    result.log_sum = elementwise(ops::kAdd, {max, elementwise(ops::kLog, {sum})});
    if (one.y == kNoValue) return result;
    const auto weighed = [&](ValueId y, ValueId weight) {
      const ValueId share = elementwise(ops::kDivide, {weight, sum});
      return elementwise(ops::kMultiply, {y, as_column(share)});
    };
    const ValueId y = weighed(one.y, a);
    result.y = elementwise(ops::kAdd, {y, weighed(other.y, b)});
    return result;
  }

  void differentiate_all() {
    std::map<Operands, std::vector<ValueId>> together;
    for (const ValueId id : cut_->gradients) together[operands(id)].push_back(id);
    for (const auto& [of, ids] : together) differentiate(ids);
  }

  /// Gradients of the same operands.
  void differentiate(const std::vector<ValueId>& ids) {
    before_ = ids.front();
    const Node gradient = with_wide_queries(before_, kAttentionGradientOperands);
    std::map<ValueId, ValueId> sums;                  // over blocks, of gradients of queries
    std::map<ValueId, std::vector<ValueId>> settled;  // blocks at their owners, of all others
    for_each_block(gradient.inputs[3], [&](const Block& block) {
      const std::vector<ValueId> of = operands_of(gradient, kAttentionGradientOperands, block);
      std::vector<ValueId> computed;
      for (const ValueId id : ids) {
        const ValueId like = like_gradient(id, of);
        computed.push_back(add(*node(id).op, of, gradient.attrs, shape(like), region(like)));
      }
      for (std::size_t i = 0; i < ids.size(); ++i) {
        const ValueId id = ids[i];
        if (node(id).op == &ops::kAttentionQueryGradient) {
          const auto [sum, is_first] = sums.try_emplace(id, computed[i]);
          order({is_first ? kNoValue : sum->second}, computed);
          if (!is_first) sum->second = elementwise(ops::kAdd, {sum->second, computed[i]});
          continue;
        }
        std::vector<ValueId>& blocks = settled[id];
        if (blocks.size() >= kAtOnce) order({blocks[blocks.size() - kAtOnce]}, computed);
        blocks.push_back(settle(cut_->scatters.at(id), computed[i], block.member));
      }
      return computed;
    });
    for (const auto& [id, sum] : sums) become(id, sum);
    for (const auto& [id, blocks] : settled) join(cut_->scatters.at(id), blocks);
  }

  /// The operand whose gradient it is.
  ValueId like_gradient(ValueId id, const std::vector<ValueId>& of) const {
    const OpDef* const op = node(id).op;
    return of[op == &ops::kAttentionQueryGradient ? 0 : op == &ops::kAttentionKeyGradient ? 1 : 2];
  }

  /// The sum of a block over all members, at its owner; elsewhere no steps.
  ValueId settle(ValueId scatter, ValueId gradient, std::size_t owner) {
    Node sum = node(scatter);
    sum.inputs = {gradient};
    keep_only(sum, owner);
    if (sum.collective->own != static_cast<std::int64_t>(owner)) sum.type.shape[kSteps] = 0;
    return insertions_.add(before_, std::move(sum), Region(region(scatter)));
  }

  /// What each member owns, of all blocks.
  void join(ValueId scatter, const std::vector<ValueId>& blocks) {
    Node& joined = program_.node(scatter);
    joined.op = &ops::kConcatenate;
    joined.inputs = blocks;
    joined.attrs = {{"axis", static_cast<std::int64_t>(kSteps)}};
    joined.collective.reset();
  }

  /// use(block) gives the nodes that read the block. The first ones are fetched when `start` is
  /// there: those of the backward pass would otherwise come in the forward pass, and be kept.
  template <class Use>
  void for_each_block(ValueId start, const Use& use) {
    const std::size_t count = cut_->keys.extents.size();
    std::vector<Block> blocks;
    while (blocks.size() < kAtOnce) blocks.push_back(fetch(blocks.size(), {start}));
    for (std::size_t i = 0; i < count; ++i) {
      const std::vector<ValueId> readers = use(blocks[i]);
      if (blocks.size() < count) blocks.push_back(fetch(blocks.size(), readers));
    }
  }

  Block fetch(std::size_t member, const std::vector<ValueId>& after) {
    Block block{.member = member, .keys = fetch(cut_->keys, member)};
    order(after, {block.keys});
    block.values = block.keys;
    if (cut_->values.whole == cut_->keys.whole) return block;
    block.values = fetch(cut_->values, member);
    order(after, {block.values});
    return block;
  }

  ValueId fetch(const GatheredSteps& of, std::size_t member) {
    Node gather = node(of.gather);
    gather.phase = node(before_).phase;
    keep_only(gather, member);
    gather.type.shape = shape(of.whole);
    gather.type.shape[kSteps] = of.extents[member];
    Region place = region(of.whole);
    place.offset[kSteps] = first_step(member);
    return insertions_.add(before_, std::move(gather), std::move(place));
  }

  std::int64_t first_step(std::size_t member) const {
    return offset_of(cut_->keys.extents, static_cast<std::int64_t>(member));
  }

  /// The members agree on a block of one of them alone.
  static void keep_only(Node& collective, std::size_t member) {
    auto& counts = collective.collective->counts;
    for (std::size_t i = 0; i < counts.size(); ++i) counts[i] = i == member ? counts[i] : 0;
  }

  /// A node with its queries, and what belongs to them, in float32: sums over blocks are rounded
  /// once.
  Node with_wide_queries(ValueId id, std::size_t fixed) {
    Node wide = node(id);
    wide.inputs[0] = widened(wide.inputs[0]);
    if (fixed == kAttentionGradientOperands) wide.inputs[3] = widened(wide.inputs[3]);
    return wide;
  }

  std::vector<ValueId> operands_of(const Node& attention, std::size_t fixed, const Block& block) {
    std::vector<ValueId> of = attention.inputs;
    of[1] = widened(block.keys);
    of[2] = block.values == block.keys ? of[1] : widened(block.values);
    const AttentionExtras extras = attention_extras(fixed, of.size(), attention.attrs);
    if (extras.mask) of[*extras.mask] = steps_of(of[*extras.mask], 4, block.member);
    if (extras.key_segments) {
      of[*extras.key_segments] = steps_of(of[*extras.key_segments], 1, block.member);
    }
    return of;
  }

  ValueId widened(ValueId value) {
    if (program_.type(value).dtype == DType::kFloat32) return value;
    return add(ops::kCast, {value}, {{"dtype", std::string(to_string(DType::kFloat32))}},
               shape(value), region(value));
  }

  /// The part of a value along `dim` that goes with the block of a member.
  ValueId steps_of(ValueId value, std::size_t dim, std::size_t member) {
    const std::int64_t begin = first_step(member), size = cut_->keys.extents[member];
    Shape part = shape(value);
    part[dim] = size;
    Region place = region(value);
    place.offset[dim] += begin;
    return add(ops::kSlice, {value},
               {{"axis", static_cast<std::int64_t>(dim)}, {"start", begin}, {"size", size}},
               std::move(part), std::move(place), program_.type(value).dtype);
  }

  /// [..] as [.., 1].
  ValueId as_column(ValueId value) {
    Shape column = shape(value);
    Region place = region(value);
    for (Shape* each : {&column, &place.global}) each->push_back(1);
    place.offset.push_back(0);
    const Attrs attrs{{"shape", place.global}};
    return add(ops::kReshape, {value}, attrs, std::move(column), std::move(place));
  }

  ValueId elementwise(const OpDef& op, const std::vector<ValueId>& inputs) {
    return add(op, inputs, {}, shape(inputs[0]), region(inputs[0]));
  }

  /// A node that stands where those are that it is for.
  ValueId add(const OpDef& op, std::vector<ValueId> inputs, Attrs attrs, Shape shape, Region region,
              DType dtype = DType::kFloat32) {
    Node made{.op = &op,
              .inputs = std::move(inputs),
              .attrs = std::move(attrs),
              .type = {dtype, std::move(shape)},
              .path = node(before_).path,
              .phase = node(before_).phase};
    return insertions_.add(before_, std::move(made), std::move(region));
  }

  void order(const std::vector<ValueId>& before, const std::vector<ValueId>& after) {
    for (const ValueId first : before) {
      if (first == kNoValue) continue;
      for (const ValueId second : after) program_.controls.push_back({first, second});
    }
  }

  /// The node shows what is computed otherwise, in its own dtype.
  void become(ValueId id, ValueId value) {
    Node& shown = program_.node(id);
    shown.inputs = {value};
    if (shown.type.dtype == program_.type(value).dtype) {
      shown.op = &ops::kReshape;
      shown.attrs = {{"shape", region(id).global}};
    } else {
      shown.op = &ops::kCast;
      shown.attrs = {{"dtype", std::string(to_string(shown.type.dtype))}};
    }
  }

  Graph& program_;
  Insertions insertions_;
  const CutAttention* cut_ = nullptr;
  ValueId before_ = kNoValue;  ///< new nodes stand before this one
};

void run(Graph& program, const Target& target) { BlockByBlock(program).run(target); }

}  // namespace

namespace rewriting {
const RewriteDef kAttentionBlocks{
    .name = "attention_blocks",
    .run = run,
    .makes = {&ops::kAdd, &ops::kAttention, &ops::kAttentionLogSum, &ops::kCast, &ops::kConcatenate,
              &ops::kDivide, &ops::kExp, &ops::kLog, &ops::kMaximum, &ops::kMultiply,
              &ops::kReshape, &ops::kSlice, &ops::kSubtract}};
}  // namespace rewriting

}  // namespace meshwork
