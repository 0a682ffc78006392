#include "graph/op_def.h"
#include "ops/ops.h"
#include "sharding/reshard.h"
#include "spmd/partition.h"

namespace meshwork {
namespace {

class Chooser {
 public:
  Chooser(const Partitioned& program, const Mesh& mesh) : source_(program), mesh_(mesh) {}

  Partitioned run() {
    const Graph& graph = source_.graph;
    for (const ValueId id : graph.ids()) {
      const Node node = remap(graph.node(id), renamed_);
      renamed_.push_back(node.op == &kReshard ? reshard(node, source_.layouts[id])
                                              : append(node, source_.layouts[id]));
    }
    remap_names(graph, renamed_, result_.graph);
    return std::move(result_);
  }

 private:
  ValueId append(Node node, Layout layout) {
    result_.layouts.push_back(std::move(layout));
    return result_.graph.nodes.append(std::move(node));
  }

  ValueId reshard(const Node& node, const Layout& to) {
    ValueId value = node.inputs[0];
    const DType dtype = node.type.dtype;
    for (const ReshardStep& step :
         reshard_steps(result_.layouts[value], to, node.type.shape, mesh_)) {
      // What is added up stays in float32 until all of it is there, and is rounded once.
      const bool is_whole = result_.layouts[value].partial.empty();
      const DType kept = is_whole ? dtype : result_.graph.type(value).dtype;
      value = convert(node, value, is_reduction(step) ? sum_dtype(dtype) : kept);
      Node move = node;
      move.inputs = {value};
      move.type.dtype = result_.graph.type(value).dtype;
      value = append(std::move(move), step.after);
      result_.steps.emplace(value, step);
    }
    return convert(node, value, dtype);
  }

  ValueId convert(Node cast, ValueId value, DType to) {
    if (result_.graph.type(value).dtype == to) return value;
    cast.op = &ops::kCast;
    cast.inputs = {value};
    cast.attrs = {{"dtype", std::string(to_string(to))}};
    cast.type.dtype = to;
    return append(std::move(cast), Layout(result_.layouts[value]));
  }

  const Partitioned& source_;
  const Mesh& mesh_;
  Partitioned result_;
  Renaming renamed_;
};

}  // namespace

Partitioned choose_collectives(const Partitioned& program, const Mesh& mesh) {
  return Chooser(program, mesh).run();
}

}  // namespace meshwork
