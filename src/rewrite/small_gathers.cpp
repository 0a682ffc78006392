// all_gathers of small parts of weights, or of their new values -> one of these parts behind each
// other, and each weight out of it: a call costs more than the bytes. As many as fill the links go
// together: parts of weights where the first of them did, new values where the last did.
#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "base/block_counts.h"
#include "graph/most_bytes.h"
#include "graph/op_def.h"
#include "graph/readers.h"
#include "ops/ops.h"
#include "rewrite/insertions.h"
#include "rewrite/rewrite.h"

namespace meshwork {
namespace {

class Gathering {
 public:
  Gathering(Graph& program, const Target& target)
      : program_(program), target_(target), insertions_(program), readers_(program) {}

  void run() {
    std::map<Key, Group> open;
    for (const ValueId id : program_.ids()) {
      made_.push_back(is_made(id));
      if (!is_wanted(id)) continue;
      Group& group = open[key_of(id)];
      group.gathers.push_back(id);
      group.bytes += most_bytes(node(id));
      if (group.bytes < target_.bucket) continue;
      groups_.push_back(std::exchange(group, {}));
    }
    for (auto& [key, group] : open) groups_.push_back(std::move(group));
    std::erase_if(groups_, [](const Group& group) { return group.gathers.size() < 2; });
    // So what two of them need is moved to the first.
    std::ranges::sort(groups_, {}, [](const Group& group) { return group.gathers.front(); });
    for (const Group& group : groups_) join(group.gathers);
    insertions_.finish();
  }

 private:
  using Key = std::tuple<bool, DType, std::vector<std::int64_t>>;
  struct Group {
    std::vector<ValueId> gathers;
    std::int64_t bytes = 0;
  };

  const Node& node(ValueId id) const { return program_.node(id); }
  ValueId operand(ValueId id) const { return node(id).inputs[0]; }
  bool is_update(ValueId id) const { return node(id).phase == Phase::kUpdate; }
  Key key_of(ValueId id) const {
    return {is_update(id), node(id).type.dtype, node(id).collective->axes};
  }

  /// Of variables alone, element by element.
  bool is_made(ValueId id) const {
    const Node& value = node(id);
    if (value.op->leaf == Leaf::kVariable) return true;
    const bool moves_on = value.op->elementwise || value.op->view_offset != nullptr;
    return moves_on && !value.inputs.empty() && !is_update(id) &&
           std::ranges::all_of(value.inputs, [&](ValueId input) { return made_[input]; });
  }

  bool is_wanted(ValueId id) const {
    if (node(id).op != &ops::kAllGather || most_bytes(node(id)) > target_.small_message) {
      return false;
    }
    return is_update(id) ? readers_.nodes(id).empty() && node(id).type.dtype == DType::kFloat32
                         : made_[operand(id)];
  }

  /// Moves a value, and what it is made of, before `reader`.
  void hoist(ValueId id, ValueId reader) {
    if (id < reader || !hoisted_.insert(id).second) return;
    for (const ValueId input : node(id).inputs) hoist(input, reader);
    insertions_.move(id, reader);
  }

  ValueId flat(ValueId reader, const OpDef& op, std::vector<ValueId> inputs, Attrs attrs,
               std::int64_t size) {
    const Shape shape{size};
    return insertions_.add(reader, op, std::move(inputs), std::move(attrs), shape,
                           whole_region(shape));
  }

  ValueId slice(ValueId reader, ValueId x, std::int64_t start, std::int64_t size) {
    const Attrs attrs{
        {"axis", std::int64_t{0}}, {"start", start}, {"size", size}, {"read_at_once", true}};
    return flat(reader, ops::kSlice, {x}, attrs, size);
  }

  /// What is gathered, once for all gathers of it: elements that each member gives, and of what.
  using Part = std::pair<std::vector<std::int64_t>, ValueId>;

  /// What this device gives of it, as a vector.
  ValueId own_part(const Part& part, std::size_t own, ValueId reader) {
    const auto& [counts, x] = part;
    hoist(x, reader);
    const std::int64_t size = num_elements(program_.type(x).shape);
    const ValueId all = flat(reader, ops::kReshape, {x}, {{"shape", Shape{size}}}, size);
    return size == counts[own] ? all : slice(reader, all, 0, counts[own]);
  }

  void join(const std::vector<ValueId>& gathers) {
    const ValueId reader = is_update(gathers.front()) ? gathers.back() : gathers.front();
    // Those of equal blocks beside each other: they are put in order together.
    std::map<Part, std::vector<ValueId>> parts;
    for (const ValueId id : gathers) {
      parts[{node(id).collective->counts, operand(id)}].push_back(id);
    }
    const CollectiveArgs& args = *node(reader).collective;
    const auto own = static_cast<std::size_t>(args.own);
    const std::size_t members = args.counts.size();
    std::vector<ValueId> given;
    for (const auto& [part, readers] : parts) given.push_back(own_part(part, own, reader));

    std::vector<std::int64_t> blocks, sums(members, 0);  // of each member those that it gives
    for (std::size_t member = 0; member < members; ++member) {
      for (const auto& [part, readers] : parts) {
        blocks.push_back(part.first[member]);
        sums[member] += blocks.back();
      }
    }
    const std::int64_t elements = total(sums);
    Node all = node(reader);
    all.inputs = {
        flat(reader, ops::kConcatenate, std::move(given), {{"axis", std::int64_t{0}}}, sums[own])};
    all.type.shape = {elements};
    all.collective->counts = std::move(sums);
    all.collective->most_elements = 0;
    for (const auto& [part, readers] : parts) {
      all.collective->most_elements += node(readers.front()).collective->most_elements;
    }
    const ValueId gathered = insertions_.add(reader, std::move(all), whole_region({elements}));
    const ValueId sorted =
        flat(reader, ops::kTransposeBlocks, {gathered},
             {{"counts", std::move(blocks)}, {"columns", static_cast<std::int64_t>(parts.size())}},
             elements);
    std::int64_t start = 0;
    for (const auto& [part, readers] : parts) {
      const std::int64_t size = num_elements(program_.type(readers.front()).shape);
      const ValueId elements = slice(reader, sorted, start, size);
      for (const ValueId gather : readers) become(gather, reader, elements);
      start += size;
    }
  }

  /// A new value is copied: to its variable, in one pass with the others.
  void become(ValueId gather, ValueId reader, ValueId elements) {
    const Shape& shape = program_.type(gather).shape;
    const OpDef* op = &ops::kReshape;
    Attrs attrs{{"shape", shape}};
    if (is_update(gather)) {
      elements = insertions_.add(reader, *op, {elements}, std::move(attrs), Shape(shape),
                                 Region(program_.regions[gather]));
      op = &ops::kCast;
      attrs = {{"dtype", std::string(to_string(program_.type(gather).dtype))}};
      if (gather != reader) insertions_.move(gather, reader);
    }
    Node& whole = program_.node(gather);
    whole.op = op;
    whole.inputs = {elements};
    whole.attrs = std::move(attrs);
    whole.collective.reset();
  }

  Graph& program_;
  const Target& target_;
  Insertions insertions_;
  Readers readers_;
  ValueMap<bool> made_;  ///< of variables
  std::vector<Group> groups_;
  std::set<ValueId> hoisted_;
};

void run(Graph& program, const Target& target) { Gathering(program, target).run(); }

}  // namespace

namespace rewriting {
const RewriteDef kSmallGathers{.name = "small_gathers",
                               .run = run,
                               .makes = {&ops::kCast, &ops::kConcatenate, &ops::kReshape,
                                         &ops::kSlice, &ops::kTransposeBlocks}};
}  // namespace rewriting

}  // namespace meshwork
