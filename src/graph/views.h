#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "graph/graph.h"

namespace meshwork {

/// Bytes of which all may stay for the sake of a part: to copy the part costs more.
constexpr std::int64_t kSmallWhole = std::int64_t{64} << 10U;

/// Bytes into its operand at which the result of a node stands, where it need not be computed:
/// OpDef::view_offset. A part is shown in place only of what is small, or kept anyway, a variable,
/// or read at the same time, as the part says (`read_at_once`); of anything else it would keep the
/// rest.
std::optional<std::int64_t> view_offset(const Graph& program, ValueId id);

inline bool is_view(const Graph& program, ValueId id) {
  return view_offset(program, id).has_value();
}

/// Of a node whose operands stand in its result one behind the other, as in a concatenation of
/// rows: the bytes at which each begins. Of any other node none.
std::vector<std::int64_t> part_offsets(const Graph& program, ValueId id);

/// The value whose bytes a view shows; any other value itself.
ValueId viewed(const Graph& program, ValueId id);

/// Whether a value is a variable, or has its elements in another type or shape.
bool is_weight(const Graph& graph, ValueId id);

}  // namespace meshwork
