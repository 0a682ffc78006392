// Looks at an image from elsewhere, with the probability factor: the ends of its lines from the
// corner at (0, 0) move along by up to half of `scale`, that corner stays. Beyond the image there
// is fill_value.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "data/augment/augment.h"
#include "data/augment/pixels.h"
#include "data/augment/sampling.h"

namespace meshwork::data {
namespace {

struct Point {
  double x = 0;
  double y = 0;
};

/// Where (x, y) of the new image comes from: ((m0 x + m1 y + m2) / d, (m3 x + m4 y + m5) / d) with
/// d = m6 x + m7 y + 1.
struct Homography {
  std::array<double, 8> m{};

  Point operator()(const Point& to) const {
    const double d = m[6] * to.x + m[7] * to.y + 1;
    return {(m[0] * to.x + m[1] * to.y + m[2]) / d, (m[3] * to.x + m[4] * to.y + m[5]) / d};
  }
};

using Equation = std::array<double, 9>;  // eight coefficients, and what they give

/// By elimination; none where a point is another one, or between others.
std::optional<Homography> solve(std::array<Equation, 8> equations) {
  constexpr double kSmall = 1e-9;
  for (std::size_t i = 0; i < 8; ++i) {
    const auto largest = std::max_element(
        equations.begin() + static_cast<std::ptrdiff_t>(i), equations.end(),
        [i](const Equation& a, const Equation& b) { return std::abs(a[i]) < std::abs(b[i]); });
    std::swap(equations[i], *largest);
    if (!(std::abs(equations[i][i]) > kSmall)) return {};
    for (std::size_t other = 0; other < 8; ++other) {
      if (other == i) continue;
      const double times = equations[other][i] / equations[i][i];
      for (std::size_t k = i; k < 9; ++k) equations[other][k] -= times * equations[i][k];
    }
  }
  Homography map;
  for (std::size_t i = 0; i < 8; ++i) map.m[i] = equations[i][8] / equations[i][i];
  return map;
}

/// The map that takes the points `to` of the new image from the points `from`.
std::optional<Homography> homography(const std::array<Point, 4>& from,
                                     const std::array<Point, 4>& to) {
  std::array<Equation, 8> equations;
  for (std::size_t i = 0; i < 4; ++i) {
    const auto [x, y] = to[i];
    const auto [u, v] = from[i];
    equations[i] = {x, y, 1, 0, 0, 0, -u * x, -u * y, u};
    equations[4 + i] = {0, 0, 0, x, y, 1, -v * x, -v * y, v};
  }
  return solve(equations);
}

std::optional<Homography> draw(const ImageShape& shape, double scale, const Draws& draws) {
  const double right = static_cast<double>(shape.width - 1);
  const double bottom = static_cast<double>(shape.height - 1);
  const auto moved = [&](double length, float draw) {
    return length * (1 + scale * (static_cast<double>(draw) - 0.5));
  };
  return homography({{{0, 0}, {right, 0}, {0, bottom}, {right, bottom}}},
                    {{{0, 0},
                      {moved(right, draws[0]), 0},
                      {0, moved(bottom, draws[1])},
                      {moved(right, draws[2]), moved(bottom, draws[3])}}});
}

void apply(const Homography& map, const Sampling& sampling, const ImageShape& shape,
           const float* from, float* to) {
  const Pixels pixels(shape, sampling, from);
  const auto width = static_cast<double>(shape.width), height = static_cast<double>(shape.height);
  for (std::int64_t i = 0; i < shape.height; ++i) {
    for (std::int64_t j = 0; j < shape.width; ++j, to += shape.channels) {
      const auto [x, y] = map({static_cast<double>(j), static_cast<double>(i)});
      const bool near = x > -1 && x < width && y > -1 && y < height;  // false at the horizon
      if (!near) {
        std::fill_n(to, shape.channels, sampling.fill_value);
      } else if (sampling.interpolation == Interpolation::kNearest) {
        pixels.nearest(x, y, to);
      } else {
        pixels.bilinear(pixels.across(x), pixels.down(y), to);
      }
    }
  }
}

Motion parse(config::Reader& args) {
  const auto probability = static_cast<float>(read_probability(args));
  const double scale = args.get("scale", 1.0, config::between(0, 1));
  Sampling sampling{.fill_mode = FillMode::kConstant};
  sampling.fill_value = static_cast<float>(args.get("fill_value", 0.0));
  sampling.interpolation = read_interpolation(args);
  return {sampling, [=](const ImageShape& shape, const Draws& draws, const Sampling& between,
                        const float* from, float* to) {
            std::optional<Homography> map;
            if (draws[0] < probability) {
              Draws corners = draws;
              corners[0] /= probability;  // uniform again, given that it is below
              map = draw(shape, scale, corners);
            }
            if (map) {
              apply(*map, between, shape, from, to);
            } else {
              std::copy_n(from, shape.elements(), to);
            }
          }};
}

}  // namespace

const ImageOpDef kRandomPerspective{.names = {"RandomPerspective", "random_perspective"},
                                    .parse_motion = parse};

}  // namespace meshwork::data
