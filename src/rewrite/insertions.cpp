#include "rewrite/insertions.h"

#include <utility>

#include "graph/op_def.h"

namespace meshwork {

ValueId Insertions::add(ValueId reader, Node node, Region region) {
  if (!is_collective(node)) node.collective.reset();
  const ValueId id = program_.append(std::move(node), std::move(region));
  before_[reader].push_back(id);
  return id;
}

ValueId Insertions::add(ValueId reader, const OpDef& op, std::vector<ValueId> inputs, Attrs attrs,
                        Shape shape, Region region) {
  Node node = program_.node(reader);
  node.op = &op;
  node.inputs = std::move(inputs);
  node.attrs = std::move(attrs);
  node.type.shape = std::move(shape);
  return add(reader, std::move(node), std::move(region));
}

void Insertions::move(ValueId id, ValueId reader) {
  moved_.insert(id);
  before_[reader].push_back(id);
}

void Insertions::finish() {
  if (before_.empty()) return;
  std::vector<ValueId> order;
  for (const ValueId id : ValueRange(0, end_)) {
    const auto before = before_.find(id);
    if (before != before_.end()) {
      order.insert(order.end(), before->second.begin(), before->second.end());
    }
    if (!moved_.contains(id)) order.push_back(id);
  }
  program_ = in_order(std::move(program_), order);
}

}  // namespace meshwork
