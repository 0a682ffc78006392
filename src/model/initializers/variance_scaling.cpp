// w of variance scale / fan: normal cut at two standard deviations, normal, or U[-limit, limit)
// with limit = sqrt(3 scale / fan); Glorot, He and LeCun are its special cases
#include <algorithm>
#include <cmath>

#include "base/nearest.h"
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

struct Scaling {
  double scale = 1.0;
  std::string mode = "fan_in";
  std::string distribution = "truncated_normal";
};

double fan_of(const Shape& shape, const std::string& mode) {
  const Fans fans = compute_fans(shape);
  const auto in = static_cast<double>(fans.in);
  const auto out = static_cast<double>(fans.out);
  if (mode == "fan_in") return std::max(1.0, in);
  if (mode == "fan_out") return std::max(1.0, out);
  return std::max(1.0, (in + out) / 2);
}

InitialValue initial_value(const Scaling& scaling, std::int64_t key, const Shape& shape) {
  const double variance = scaling.scale / fan_of(shape, scaling.mode);
  if (scaling.distribution == "uniform") {
    const double limit = std::sqrt(3 * variance);
    return {&ops::kRandomUniform,
            {{"key", key}, {"low", -limit}, {"high", limit}, {"shape", shape}}};
  }
  const bool cut = scaling.distribution == "truncated_normal";
  const double stddev = std::sqrt(variance) / (cut ? kTruncatedDeviation : 1.0);
  return {cut ? &ops::kTruncatedNormal : &ops::kRandomNormal,
          {{"key", key}, {"mean", 0.0}, {"stddev", stddev}, {"shape", shape}}};
}

Initializer read_rest(config::Reader& args, const Scaling& scaling) {
  const auto seed = args.get_integer("seed");
  refuse_arguments(args, {"input_axes", "output_axes"});
  return [=](const InitRequest& request) {
    return initial_value(scaling, initial_key(request, seed), request.shape);
  };
}

/// One of `choices`, or an Error.
std::string read_choice(config::Reader& args, const char* key, const std::string& fallback,
                        const std::vector<std::string>& choices) {
  const config::Value* value = args.find(key);
  if (value == nullptr) return fallback;
  const std::string word = value->as_string(key);
  if (std::find(choices.begin(), choices.end(), word) == choices.end()) {
    fail_at(value->at, "{}: there is no {} '{}'{}", args.what(), key, word,
            suggestion(word, choices));
  }
  return word;
}

Initializer read(config::Reader& args) {
  Scaling scaling;
  scaling.scale = args.get("scale", 1.0);
  if (scaling.scale <= 0) {
    fail_at(args.at(), "{}: scale is {}; give more than 0", args.what(), scaling.scale);
  }
  scaling.mode = read_choice(args, "mode", scaling.mode, {"fan_in", "fan_out", "fan_avg"});
  scaling.distribution =
      read_choice(args, "distribution", scaling.distribution,
                  {"truncated_normal", "normal", "untruncated_normal", "uniform"});
  if (scaling.distribution == "normal") scaling.distribution = "truncated_normal";
  return read_rest(args, scaling);
}

}  // namespace

const InitializerDef kVarianceScaling{
    .names = {"VarianceScaling", "variance_scaling"},
    .read = read,
};

const InitializerDef kGlorotNormal{
    .names = {"GlorotNormal", "glorot_normal"},
    .read =
        [](config::Reader& a) {
          return read_rest(a, {1.0, "fan_avg", "truncated_normal"});
        },
};

const InitializerDef kGlorotUniform{
    .names = {"GlorotUniform", "glorot_uniform"},
    .read =
        [](config::Reader& a) {
          return read_rest(a, {1.0, "fan_avg", "uniform"});
        },
};

const InitializerDef kHeNormal{
    .names = {"HeNormal", "he_normal"},
    .read =
        [](config::Reader& a) {
          return read_rest(a, {2.0, "fan_in", "truncated_normal"});
        },
};

const InitializerDef kHeUniform{
    .names = {"HeUniform", "he_uniform"},
    .read =
        [](config::Reader& a) {
          return read_rest(a, {2.0, "fan_in", "uniform"});
        },
};

const InitializerDef kLecunNormal{
    .names = {"LecunNormal", "lecun_normal"},
    .read =
        [](config::Reader& a) {
          return read_rest(a, {1.0, "fan_in", "truncated_normal"});
        },
};

const InitializerDef kLecunUniform{
    .names = {"LecunUniform", "lecun_uniform"},
    .read =
        [](config::Reader& a) {
          return read_rest(a, {1.0, "fan_in", "uniform"});
        },
};

}  // namespace initializers
}  // namespace meshwork
