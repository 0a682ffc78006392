#include "explain/words.h"

#include <fmt/format.h>

#include <array>

#include "base/byte_size.h"
#include "base/join.h"
#include "base/names.h"
#include "explain/draw/pen.h"

namespace meshwork {

std::string show_shape(const Shape& shape) {
  return fmt::format("({}{})", join(shape, ", "), shape.size() == 1 ? "," : "");
}

std::string show_size(double bytes) {
  if (bytes < 1024) return fmt::format("{:.0f} bytes", bytes);
  return fmt::format("{} bytes ({})", show_count(static_cast<std::int64_t>(bytes + 0.5)),
                     show_bytes(bytes));
}

std::string show_digits(double number) {
  return fmt::format("{:.{}f}", number, number >= 99.95 ? 0 : number >= 9.995 ? 1 : 2);
}

std::string show_operations(double count) {
  constexpr std::array kUnits{"", " k", " M", " G", " T", " P"};
  std::size_t unit = 0;
  for (; count >= 999.5 && unit + 1 < kUnits.size(); ++unit) count /= 1000;
  return unit == 0 ? fmt::format("{:.0f}", count) : show_digits(count) + kUnits[unit];
}

std::string show_layout(const Layout& layout, const Mesh& mesh) {
  return to_string(without_halos(layout), mesh) + (layout.halos.empty() ? "" : " with a halo");
}

std::string axis_names(const std::vector<int>& axes, const Mesh& mesh) {
  return join(mesh.axis_names(axes), ", ");
}

std::string show_rule(const config::LayoutRule& rule) {
  return fmt::format("'{}' ({})", rule.pattern, config::to_string(rule.at));
}

std::string phase_name(Phase phase) {
  if (phase == Phase::kUpdate) return "update";
  return phase == Phase::kForward ? "forward" : "backward";
}

std::string show_mesh(const Mesh& mesh) {
  std::vector<std::string> terms;
  std::int64_t stride = 1;
  for (std::size_t a = mesh.names.size(); a-- > 0;) {
    if (mesh.sizes[a] > 1) {
      terms.insert(terms.begin(),
                   stride == 1 ? mesh.names[a] : fmt::format("{} {}", stride, mesh.names[a]));
    }
    stride *= mesh.sizes[a];
  }
  std::string text = fmt::format("mesh {}: {} device{}", to_string(mesh), mesh.num_devices(),
                                 mesh.num_devices() == 1 ? "" : "s");
  if (!mesh.devices.empty()) {
    text += fmt::format(", in this order: {}", join(mesh.devices, ", "));
  } else if (terms.size() > 1) {
    text += fmt::format(", device = {}", join(terms, " + "));
  }
  return text;
}

std::string show_collectives(bool by_nccl) {
  if (!by_nccl)
    return "canonical: sums have one order, whatever the devices and the links between them";
  return "nccl: sums have an order of NCCL's own: results depend on the mesh and on the machines, "
         "and are the same from run to run on the same ones";
}

std::string describe(ValueKind kind) {
  static constexpr std::array kNames{"trained weight", "weight that is not trained",
                                     "state of the optimizer", "gradient", "output of a layer"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string dim_name(const std::string& path, std::size_t rank, std::size_t dim) {
  static const std::array<std::array<const char*, 4>, 4> kOutputs{{
      {"batch"},
      {"batch", "features"},
      {"batch", "steps", "features"},
      {"batch", "height", "width", "channels"},
  }};
  const bool output = path.ends_with("/output") || path == names::kPrediction;
  if (output && rank >= 1 && rank <= 4) return kOutputs[rank - 1][dim];
  if (output && dim == 0) return "batch";
  if (!output && rank == 1) return "elements";
  if (!output && rank == 2) return dim == 0 ? "rows" : "columns";
  return fmt::format("dimension {}", dim);
}

}  // namespace meshwork
