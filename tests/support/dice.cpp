#include "support/dice.h"

#include <fmt/format.h>

namespace meshwork::testing {

MeshShape random_mesh(Dice& dice) {
  static const std::vector<std::vector<int>> kShapes{
      {2, 1}, {1, 2}, {3, 1}, {1, 3}, {2, 2}, {4, 1}, {1, 4}, {1, 5},    {5, 1}, {3, 2},   {2, 3},
      {6, 1}, {7, 1}, {1, 7}, {2, 4}, {4, 2}, {8, 1}, {1, 8}, {2, 2, 2}, {1, 1}, {2, 3, 1}};
  static const std::vector<std::string> kNames{"data", "model", "extra"};
  MeshShape mesh;
  const auto& shape = dice.one_of(kShapes);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    mesh.names.push_back(kNames[i]);
    mesh.text += fmt::format("{}{}={}", i > 0 ? "," : "", kNames[i], shape[i]);
  }
  return mesh;
}

std::string random_layout(Dice& dice, const MeshShape& mesh, int rank) {
  std::vector<std::string> dims(static_cast<std::size_t>(rank));
  std::vector<std::string> axes = mesh.names;
  if (dice.chance(50)) std::swap(axes[0], axes[1]);
  for (const std::string& axis : axes) {
    const int dim = dice.below(rank + 1);  // the last one: nowhere
    if (dim == rank) continue;
    std::string& entry = dims[static_cast<std::size_t>(dim)];
    entry += (entry.empty() ? "" : ", ") + axis;
  }
  std::string text;
  for (const std::string& entry : dims) {
    if (!text.empty()) text += ", ";
    text += entry.empty()                          ? "null"
            : entry.find(',') == std::string::npos ? entry
                                                   : "[" + entry + "]";
  }
  return "[" + text + "]";
}

std::string layout_map(const std::string& rules) {
  const std::string map = rules.empty() ? "layout_map: {}\n" : "layout_map:\n" + rules;
  return "strategy: model_parallel\n" + map;
}

std::string random_batch_axis(Dice& dice, const MeshShape& mesh) {
  std::string text;
  const int choice = dice.below(10);
  if (choice < 2) text += "batch_axis: " + mesh.names[1] + "\n";
  if (choice == 2) text += "batch_axis: [" + mesh.names[0] + ", " + mesh.names[1] + "]\n";
  if (dice.chance(30)) text += "keep_gathered: true\n";
  return text;
}

}  // namespace meshwork::testing
