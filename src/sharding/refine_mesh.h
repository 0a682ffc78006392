#pragma once

#include "sharding/layout_map.h"

namespace meshwork {

/// The mesh with axes in parts where layouts give an axis of n devices a dimension of m elements, m
/// a divisor of n, that stand for groups: heads of keys, each of which belongs to several heads of
/// queries. The first of two parts then has m devices and shards them, and along the other lie
/// replicas, each beside its share of the group: no device is without work.
///
/// `graph` is the model's; throws the Errors of pin_layouts().
Mesh refine_mesh(const Graph& graph, const config::Config& config, Mesh mesh);

/// Without axes that would leave devices empty beside the only element of a dimension, and without
/// the later parts of an axis where those before have split a dimension into single elements.
Layout without_empty_parts(Layout layout, const Shape& shape, const Mesh& mesh);

}  // namespace meshwork
