#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "config/config.h"

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

}  // namespace meshwork
