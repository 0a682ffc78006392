#include <array>

#include "config/lookup.h"
#include "model/activations/activation.h"
#include "model/arguments.h"

namespace meshwork {
namespace {

/// Keras's activations that are layers, as the names of functions; "": it has weights.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kLayers{
    {{"ReLU", "relu"},
     {"LeakyReLU", "leaky_relu: {negative_slope: 0.3}"},
     {"ELU", "elu"},
     {"Softmax", "softmax"},
     {"PReLU", ""}}};

void refuse_layer(const config::ClassSpec& activation) {
  for (const auto& [layer, function] : kLayers) {
    if (layer != activation.name) continue;
    const std::string word = function.empty() ? "" : fmt::format("write {}, or ", function);
    fail_at(activation.at, "activation {} is a layer; {}put it behind this one", layer, word);
  }
}

}  // namespace

const std::vector<const ActivationDef*>& activation_registry() {
  static const std::vector<const ActivationDef*> registry = {
      &activations::kCelu,        &activations::kElu,           &activations::kExponential,
      &activations::kGelu,        &activations::kGlu,           &activations::kHardShrink,
      &activations::kHardSigmoid, &activations::kHardSilu,      &activations::kHardTanh,
      &activations::kLeakyRelu,   &activations::kLinear,        &activations::kLogSigmoid,
      &activations::kLogSoftmax,  &activations::kMish,          &activations::kRelu,
      &activations::kRelu6,       &activations::kSelu,          &activations::kSigmoid,
      &activations::kSilu,        &activations::kSoftmax,       &activations::kSoftplus,
      &activations::kSoftShrink,  &activations::kSoftsign,      &activations::kSparsemax,
      &activations::kSparsePlus,  &activations::kSparseSigmoid, &activations::kSquareplus,
      &activations::kTanh,        &activations::kTanhShrink,    &activations::kThreshold,
  };
  return registry;
}

Activation read_activation(const config::Value* spec) {
  if (spec == nullptr) return [](GraphBuilder&, ValueId x) { return x; };
  const config::ClassSpec activation = config::read_class(*spec, "activation");
  refuse_layer(activation);
  return config::read_named(activation_registry(), activation, "activation");
}

Activation read_activation(config::Reader& args, std::string_view key, const char* fallback) {
  if (is_null(args, key)) return read_activation(nullptr);
  const config::Value word = config::Value::of_text(fallback, args.at());
  const config::Value* const given = args.find(key);
  return read_activation(given == nullptr ? &word : given);
}

}  // namespace meshwork
