#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "graph/builder.h"

namespace meshwork {

/// An activation with its arguments.
using Activation = std::function<ValueId(GraphBuilder&, ValueId x)>;

/// One activation, in the list of registry.cpp: its spellings and its arguments.
struct ActivationDef {
  std::vector<std::string_view> names;
  Activation (*read)(config::Reader& args);
};

/// The `read` of an activation without arguments.
template <ValueId (*formula)(GraphBuilder&, ValueId)>
Activation plain(config::Reader& /*args*/) {
  return formula;
}

/// An activation that is one op.
inline Activation one_op(const OpDef& op) {
  return [&op](GraphBuilder& b, ValueId x) { return b.add(op, {x}); };
}

const std::vector<const ActivationDef*>& activation_registry();

/// Reads `relu` or `leaky_relu: {negative_slope: 0.1}`; nullptr is linear, as None in Keras.
Activation read_activation(const config::Value* spec);

/// The key of a layer; `fallback` where it is absent, linear where it is null.
Activation read_activation(config::Reader& args, std::string_view key, const char* fallback);

namespace activations {
extern const ActivationDef kCelu;
extern const ActivationDef kElu;
extern const ActivationDef kExponential;
extern const ActivationDef kGelu;
extern const ActivationDef kGlu;
extern const ActivationDef kHardShrink;
extern const ActivationDef kHardSigmoid;
extern const ActivationDef kHardSilu;
extern const ActivationDef kHardTanh;
extern const ActivationDef kLeakyRelu;
extern const ActivationDef kLinear;
extern const ActivationDef kLogSigmoid;
extern const ActivationDef kLogSoftmax;
extern const ActivationDef kMish;
extern const ActivationDef kRelu;
extern const ActivationDef kRelu6;
extern const ActivationDef kSelu;
extern const ActivationDef kSigmoid;
extern const ActivationDef kSilu;
extern const ActivationDef kSoftmax;
extern const ActivationDef kSoftplus;
extern const ActivationDef kSoftShrink;
extern const ActivationDef kSoftsign;
extern const ActivationDef kSparsemax;
extern const ActivationDef kSparsePlus;
extern const ActivationDef kSparseSigmoid;
extern const ActivationDef kSquareplus;
extern const ActivationDef kTanh;
extern const ActivationDef kTanhShrink;
extern const ActivationDef kThreshold;
}  // namespace activations

}  // namespace meshwork
