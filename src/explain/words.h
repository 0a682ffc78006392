#pragma once

#include <string>
#include <vector>

#include "explain/explain.h"

namespace meshwork {

/// "(784, 50)", "(10,)".
std::string show_shape(const Shape& shape);
/// "12 bytes", "2,048 bytes (2.00 KiB)".
std::string show_size(double bytes);
/// Three digits of a number below 1000, all before the point of a greater one.
std::string show_digits(double number);
/// "37.1 M".
std::string show_operations(double count);
/// Halos are told apart; with many parts they would fill lines.
std::string show_layout(const Layout& layout, const Mesh& mesh);
/// "data, model".
std::string axis_names(const std::vector<int>& axes, const Mesh& mesh);
/// "'d1/kernel' (c.yaml:3:4)".
std::string show_rule(const config::LayoutRule& rule);
/// What is computed again counts as backward.
std::string phase_name(Phase phase);
/// "mesh data=2,model=4: 8 devices, device = 4 data + model", or of another order
/// "mesh model=2: 2 devices, in this order: 1, 0".
std::string show_mesh(const Mesh& mesh);

/// What carries out collectives of GPUs, and what it means: "canonical: ..", "nccl: ..".
std::string show_collectives(bool by_nccl);

/// "trained weight", "output of a layer".
std::string describe(ValueKind kind);

/// What a dimension is called: "batch" and "height" for outputs, "rows" for matrices, else
/// "dimension 2".
std::string dim_name(const std::string& path, std::size_t rank, std::size_t dim);

}  // namespace meshwork
