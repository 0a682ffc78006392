#include "job/mesh_json.h"

#include <nlohmann/json.hpp>

namespace meshwork {

nlohmann::ordered_json mesh_json(const Mesh& mesh) {
  auto json = nlohmann::ordered_json::object();
  for (const auto& [name, size] : stated_axes(mesh)) json[name] = size;
  return json;
}

}  // namespace meshwork
