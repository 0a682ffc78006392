#pragma once

#include "config/config.h"
#include "graph/graph.h"

namespace meshwork {

/// What the optimizer wants the loss multiplied by before gradients are taken; kNoValue: nothing.
ValueId loss_scale(Graph& graph, const config::ClassSpec& optimizer);

/// Appends to a program with gradients what the optimizer makes of them: an update, or a sum of
/// gradients for the next one. See add_optimizer() and add_accumulation().
void add_update(Graph& graph, const config::ClassSpec& optimizer, bool accumulates);

/// A program that gives every variable of `step` its initial value and does nothing else.
Graph initialization(const Graph& step);

/// A program that gives every weight the value of its average and does nothing else.
Graph averaging(const Graph& step, const config::ClassSpec& optimizer);

/// A program that adds up the sums over the batch of which devices keep their own, and does nothing
/// else.
Graph reduction_of_sums(const Graph& step);

}  // namespace meshwork
