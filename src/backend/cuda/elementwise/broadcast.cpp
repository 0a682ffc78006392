#include "backend/cuda/elementwise/broadcast.h"

#include <algorithm>

#include "base/check.h"

namespace meshwork::cuda {

Moves moves_of(const Shape& operand, const Shape& result) {
  MW_CHECK(operand.size() <= result.size(), "{} to {}", to_string(operand), to_string(result));
  const std::size_t missing = result.size() - operand.size();
  Moves moves;
  for (std::size_t d = 0; d < result.size(); ++d) {
    const std::int64_t extent = d < missing ? 1 : operand[d - missing];
    MW_CHECK(extent == result[d] || extent == 1, "{} to {}", to_string(operand), to_string(result));
    moves.push_back(extent == result[d]);
  }
  return moves;
}

Nest merged(const Shape& result, const std::vector<Moves>& operands) {
  Nest nest{{}, std::vector<Moves>(operands.size())};
  for (std::size_t d = 0; d < result.size(); ++d) {
    if (result[d] == 1) continue;
    bool joins = !nest.extents.empty();
    for (std::size_t o = 0; joins && o < operands.size(); ++o) {
      joins = operands[o][d] == nest.moves[o].back();
    }
    if (joins) {
      nest.extents.back() *= result[d];
      continue;
    }
    nest.extents.push_back(result[d]);
    for (std::size_t o = 0; o < operands.size(); ++o) nest.moves[o].push_back(operands[o][d]);
  }
  MW_CHECK(!nest.extents.empty());
  return nest;
}

}  // namespace meshwork::cuda
