// reduce_scatter of a small value -> all_reduce, and the own block of it: the call costs more than
// the bytes, and all-reduces go out together
#include <utility>

#include "base/block_counts.h"
#include "graph/op_def.h"
#include "ops/ops.h"
#include "rewrite/insertions.h"
#include "rewrite/rewrite.h"

namespace meshwork {
namespace {

class Reducing {
 public:
  Reducing(Graph& program, const Target& target)
      : program_(program), target_(target), insertions_(program) {}

  void run() {
    for (const ValueId id : program_.ids()) {
      if (program_.node(id).op == &ops::kReduceScatter && is_small(id)) reduce(id);
    }
    insertions_.finish();
  }

 private:
  bool is_small(ValueId id) const {
    return num_bytes(program_.global_type(id)) <= target_.small_message;
  }

  void reduce(ValueId id) {
    const ValueId x = program_.node(id).inputs[0];
    const auto& counts = program_.node(id).collective->counts;
    const auto own = program_.node(id).collective->own;
    const std::int64_t begin = offset_of(counts, own);
    const std::int64_t size = counts[static_cast<std::size_t>(own)];
    const Shape all{num_elements(program_.type(x).shape)}, block{size};

    Node sum = program_.node(id);
    sum.op = &ops::kAllReduce;
    sum.type.shape = program_.type(x).shape;
    sum.collective->own = 0;
    sum.collective->counts.clear();
    sum.collective->most_elements *= std::ssize(counts);  // blocks, of which no one is larger
    const ValueId reduced = insertions_.add(id, std::move(sum), Region(program_.regions[x]));
    const ValueId flat =
        insertions_.add(id, ops::kReshape, {reduced}, {{"shape", all}}, all, whole_region(all));
    const ValueId part = insertions_.add(
        id, ops::kSlice, {flat}, {{"axis", std::int64_t{0}}, {"start", begin}, {"size", size}},
        block, whole_region(block));

    Node& node = program_.node(id);
    node.op = &ops::kReshape;
    node.inputs = {part};
    node.attrs = {{"shape", node.type.shape}};
    node.collective.reset();
  }

  Graph& program_;
  const Target& target_;
  Insertions insertions_;
};

void run(Graph& program, const Target& target) { Reducing(program, target).run(); }

}  // namespace

namespace rewriting {
const RewriteDef kSmallScatters{
    .name = "small_scatters", .run = run, .makes = {&ops::kReshape, &ops::kSlice}};
}  // namespace rewriting

}  // namespace meshwork
