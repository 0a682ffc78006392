#include <fmt/format.h>

#include <algorithm>

#include "explain/draw/devices.h"
#include "explain/draw/tensor.h"

namespace meshwork {
namespace {

constexpr std::int64_t kLongestBar = 40;
constexpr std::size_t kMaxBars = 16;

/// One character stands for as many elements as make the bar short enough.
std::string bar(std::int64_t extent, const Interval& kept, const Interval& held) {
  const std::int64_t length = std::min(extent, kLongestBar);
  std::string text;
  for (std::int64_t i = 0; i < length; ++i) {
    const Interval cell{i * extent / length, (i + 1) * extent / length};
    const std::int64_t own = intersection(cell, kept).size();
    const std::int64_t both = intersection(intersection(cell, held), kept).size();
    const bool fetched = intersection(cell, held).size() > both;
    text += fetched ? "░" : own > 0 ? "█" : "·";
  }
  return text;
}

}  // namespace

std::string draw_halo(const HaloPicture& picture, const Mesh& mesh, const Pen& pen) {
  std::vector<std::vector<std::string>> lines;
  const std::size_t count = picture.kept.size();
  const bool all = count <= kMaxBars;
  for (std::size_t i = 0; i < count; ++i) {
    if (!all && i + 3 > kMaxBars && i + 1 < count) continue;
    if (!all && i + 1 == count) lines.push_back({"⋮", "", "", ""});
    Coordinates at = anywhere(mesh);
    fix_part(at, picture.axes, static_cast<std::int64_t>(i), mesh);
    const DeviceSet devices = devices_at(at, mesh);
    lines.push_back(
        {show_range(picture.kept[i]), bar(picture.extent, picture.kept[i], picture.held[i]),
         "needs " + show_range(picture.held[i]),
         fmt::format("{} {}", devices.count == 1 ? "device" : "devices", to_string(devices))});
  }
  std::string text;
  for (const auto& line : lines) {
    std::string row(8, ' ');
    for (std::size_t c = 0; c < line.size(); ++c) {
      std::size_t width = 0;
      for (const auto& other : lines) width = std::max(width, width_of(other[c]));
      row += pad(line[c], c + 1 < line.size() ? width + 3 : 0);
    }
    row.erase(row.find_last_not_of(' ') + 1);
    text += row + "\n";
  }
  return finished(text, pen);
}

}  // namespace meshwork
