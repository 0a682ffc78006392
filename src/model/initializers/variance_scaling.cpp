// w of variance scale / fan: normal cut at two standard deviations, normal, or U[-limit, limit)
// with limit = sqrt(3 scale / fan); Glorot, He and LeCun are its special cases
#include <algorithm>
#include <cmath>

#include "model/arguments.h"
#include "model/initializers/initializer.h"
#include "ops/ops.h"

namespace meshwork {

Fans compute_fans(const Shape& shape) {
  if (shape.empty()) return {};
  if (shape.size() == 1) return {shape[0], shape[0]};
  const Shape window(shape.begin(), shape.end() - 2);  // of a convolution; empty for a matrix
  const std::int64_t receptive = num_elements(window);
  return {receptive * shape[shape.size() - 2], receptive * shape.back()};
}

namespace initializers {
namespace {

// Standard deviation of a standard normal distribution cut at two standard deviations.
constexpr double kTruncatedDeviation = 0.87962566103423978;

enum class Fan { kIn, kOut, kAverage };
enum class Distribution { kTruncatedNormal, kNormal, kUniform };

struct Scaling {
  double scale = 1.0;
  Fan fan = Fan::kIn;
  Distribution distribution = Distribution::kTruncatedNormal;
};

double fan_of(const InitRequest& request, Fan fan) {
  const Fans fans = request.fans ? *request.fans : compute_fans(request.shape);
  const auto in = static_cast<double>(fans.in);
  const auto out = static_cast<double>(fans.out);
  return std::max(1.0, fan == Fan::kIn ? in : fan == Fan::kOut ? out : (in + out) / 2);
}

InitialValue initial_value(const Scaling& scaling, std::int64_t key, const InitRequest& request) {
  const Shape& shape = request.shape;
  const double variance = scaling.scale / fan_of(request, scaling.fan);
  if (scaling.distribution == Distribution::kUniform) {
    const double limit = std::sqrt(3 * variance);
    return {&ops::kRandomUniform,
            {{"key", key}, {"low", -limit}, {"high", limit}, {"shape", shape}}};
  }
  const bool cut = scaling.distribution == Distribution::kTruncatedNormal;
  const double stddev = std::sqrt(variance) / (cut ? kTruncatedDeviation : 1.0);
  return {cut ? &ops::kTruncatedNormal : &ops::kRandomNormal,
          {{"key", key}, {"mean", 0.0}, {"stddev", stddev}, {"shape", shape}}};
}

Initializer read_rest(config::Reader& args, const Scaling& scaling) {
  const auto seed = args.get_integer("seed");
  refuse_arguments(args, {"input_axes", "output_axes"});
  return [=](const InitRequest& request) {
    return initial_value(scaling, initial_key(request, seed), request);
  };
}

/// The initializers that have a name of their own.
template <int scale, Fan fan, Distribution distribution>
Initializer read_named(config::Reader& args) {
  return read_rest(args, {scale, fan, distribution});
}

Initializer read(config::Reader& args) {
  Scaling scaling;
  scaling.scale = args.get("scale", 1.0, config::more_than(0));
  scaling.fan =
      args.choose("mode", scaling.fan,
                  {{"fan_in", Fan::kIn}, {"fan_out", Fan::kOut}, {"fan_avg", Fan::kAverage}});
  scaling.distribution = args.choose("distribution", scaling.distribution,
                                     {{"truncated_normal", Distribution::kTruncatedNormal},
                                      {"normal", Distribution::kTruncatedNormal},
                                      {"untruncated_normal", Distribution::kNormal},
                                      {"uniform", Distribution::kUniform}});
  return read_rest(args, scaling);
}

}  // namespace

const InitializerDef kVarianceScaling{
    .names = {"VarianceScaling", "variance_scaling"},
    .read = read,
};

const InitializerDef kGlorotNormal{
    .names = {"GlorotNormal", "glorot_normal"},
    .read = read_named<1, Fan::kAverage, Distribution::kTruncatedNormal>,
};
const InitializerDef kGlorotUniform{
    .names = {"GlorotUniform", "glorot_uniform"},
    .read = read_named<1, Fan::kAverage, Distribution::kUniform>,
};
const InitializerDef kHeNormal{
    .names = {"HeNormal", "he_normal"},
    .read = read_named<2, Fan::kIn, Distribution::kTruncatedNormal>,
};
const InitializerDef kHeUniform{
    .names = {"HeUniform", "he_uniform"},
    .read = read_named<2, Fan::kIn, Distribution::kUniform>,
};
const InitializerDef kLecunNormal{
    .names = {"LecunNormal", "lecun_normal"},
    .read = read_named<1, Fan::kIn, Distribution::kTruncatedNormal>,
};
const InitializerDef kLecunUniform{
    .names = {"LecunUniform", "lecun_uniform"},
    .read = read_named<1, Fan::kIn, Distribution::kUniform>,
};

}  // namespace initializers
}  // namespace meshwork
