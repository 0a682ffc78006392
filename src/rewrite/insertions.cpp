#include "rewrite/insertions.h"

#include <utility>

namespace meshwork {

ValueId Insertions::add(ValueId reader, Node node, Window window) {
  const ValueId id = count();
  program_.nodes.push_back(std::move(node));
  program_.windows.push_back(std::move(window));
  before_[reader].push_back(id);
  return id;
}

void Insertions::finish() {
  std::vector<ValueId> order;
  for (ValueId id = 0; id < end_; ++id) {
    const auto before = before_.find(id);
    if (before != before_.end()) {
      order.insert(order.end(), before->second.begin(), before->second.end());
    }
    order.push_back(id);
  }
  program_ = in_order(program_, order);
}

}  // namespace meshwork
