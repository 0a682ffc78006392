#pragma once

#include "config/layer_element.h"

namespace meshwork::config {

/// Writes `layers`, a list, out into `model`, whose inputs stand there already: replaces
/// parameters, repeats, enters blocks, finds what each layer takes. `outputs` (null: the last
/// layer) names what the model gives.
///
/// Keys of every element of a list, beside the arguments of its class:
///   name       a repeated one counts on: stage, stage_1, stage_2
///   inputs     names; default: what stands before it
///   if         false: left out, its name stands for its first input
///   repeat     so many, each taking the one before as its first input; `$index` counts from 0
///   trainable  false: its variables, and those in the block, are not trained
///   rematerialize  true: the backward pass computes it again from its inputs
///   <variable>_layout, output_layout
/// `use: name` stands for one more use of a layer or block of the same list.
void expand_layers(const Value& layers, const Value* outputs, const ModelText& text,
                   ModelSpec& model);

/// An input of the model from its shape, or from {shape: [64], dtype: int32}.
InputSpec read_input(const std::string& name, const Value& value, const Location& at);

}  // namespace meshwork::config
