#pragma once

#include <vector>

#include "graph/graph.h"
#include "graph/readers.h"

namespace meshwork {

/// A sum of results of one op, which nothing else reads.
struct SumTerms {
  std::vector<ValueId> terms;  ///< as they are added up
  std::vector<ValueId> sums;   ///< it, and those within it
};

/// Whether `id` is such a sum, or one term; if so, that of which it is one is appended.
bool find_sum_terms(const Graph& program, const Readers& readers, ValueId id, const OpDef& term,
                    SumTerms& found);

}  // namespace meshwork
