#include "rewrite/sum_terms.h"

#include <algorithm>

#include "graph/op_def.h"
#include "ops/ops.h"

namespace meshwork {

bool find_sum_terms(const Graph& program, const Readers& readers, ValueId id, const OpDef& term,
                    SumTerms& found) {
  const Node& node = program.node(id);
  if (node.op == &term) {
    found.terms.push_back(id);
    return true;
  }
  if (node.op != &ops::kAdd) return false;
  found.sums.push_back(id);
  return std::ranges::all_of(node.inputs, [&](ValueId input) {
    return readers.count(input) == 1 && find_sum_terms(program, readers, input, term, found);
  });
}

}  // namespace meshwork
