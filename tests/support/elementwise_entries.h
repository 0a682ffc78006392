#pragma once

#include <vector>

#include "elementwise/all.h"

namespace meshwork::testing {

/// What tests ask of an entry of the list of elementwise ops.
struct ElementwiseEntry {
  const OpDef* op;
  elementwise::Types types;
  std::size_t operands;
  bool approximates;  ///< an exact form that is not its own

  bool takes_whole_numbers() const {
    return types == elementwise::Types::kNumber || types == elementwise::Types::kTruth;
  }
};

template <class... Entries>
std::vector<ElementwiseEntry> entries_of(elementwise::List<Entries...>) {
  return {{&elementwise::kOp<Entries>, Entries::kTraits.types,
           elementwise::operand_count<Entries>(), Entries::kTraits.ulps > 0}...};
}

/// All of them.
inline std::vector<ElementwiseEntry> elementwise_entries() {
  return entries_of(elementwise::All{});
}

}  // namespace meshwork::testing
