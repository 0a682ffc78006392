#pragma once

#include <nlohmann/json_fwd.hpp>

#include "sharding/mesh.h"

namespace meshwork {

/// {"data": 2, "model": 4}, the axes of the configuration.
nlohmann::ordered_json mesh_json(const Mesh& mesh);

}  // namespace meshwork
