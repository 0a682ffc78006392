#pragma once

#include <string>
#include <vector>

namespace meshwork {

/// The configuration of a model that Keras has saved as a `.keras` file, or whose `to_json()`
/// stands in one: its model and, where it was compiled, `compile`. It has been read back and built;
/// what has no words here is an Error that names the layer. `notes`: what has been left out.
std::string configuration_of_keras(const std::string& file, std::vector<std::string>& notes);

}  // namespace meshwork
