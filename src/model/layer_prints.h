#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "model/model.h"

namespace meshwork {

/// What a layer computes, as a number, and how the file describes it.
struct LayerPrint {
  std::uint64_t hash = 0;
  std::string text;  ///< "Dense: {units: 200, activation: relu}"
};

/// Of every layer of the model, by path. Two layers of one print compute the same of their inputs
/// and weights when they predict: how weights are initialized, regularized or laid out, and in
/// which precision all is computed, has no part in it. What a layer is made of may change from one
/// version of Meshwork to the next.
std::map<std::string, LayerPrint> layer_prints(const config::Config& config);

/// The same of what they compute, and which of their variables change, when they are trained:
/// dropout, regularizers, and what is frozen, have a part in it.
std::map<std::string, LayerPrint> training_prints(const config::Config& config);

/// What `compile`, which must be there, and class weights make of labels and predictions: a text
/// that two configurations over data of one signature share if their losses are the same. What
/// regularizers add, and metrics, have no part in it.
std::string loss_print(const config::Config& config, const Signature& signature);

}  // namespace meshwork
