#pragma once

#include <vector>

#include "graph/dim_rule.h"
#include "sharding/mesh.h"

namespace meshwork {

/// Of each factor of a rule the mesh axes that shard it, major first.
using FactorAxes = std::vector<std::vector<int>>;

/// The factor of a dimension that one of the `axes` shards it by: the first that the axes before it
/// have not split down to single elements, else the last; -1 of an extent of one. [a, b] over
/// (g r), g of as many elements as a has positions: a shards g, b shards r.
int factor_of_axis(const DimRule& rule, const DimRule::Dim& dim, const std::vector<int>& axes,
                   int axis, const Mesh& mesh);

/// Adds what axes of one dimension shard.
void add_axes(const DimRule& rule, const DimRule::Dim& dim, const std::vector<int>& axes,
              const Mesh& mesh, FactorAxes& result);

/// The axes of a dimension.
std::vector<int> axes_of(const DimRule::Dim& dim, const FactorAxes& axes);

/// Whether parts of factors are parts of all dimensions that have them: no `[c]` is sharded; of a
/// merged dimension every factor before a sharded one is split down to single elements, and all but
/// the last into equal parts.
bool is_legal(const DimRule& rule, const FactorAxes& axes, const Mesh& mesh);

/// Whether that may be so for a factor that an axis shards, with others.
bool may_shard(const DimRule& rule, int factor, int axis, const Mesh& mesh);

}  // namespace meshwork
