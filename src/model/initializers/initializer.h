#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "graph/op_def.h"

namespace meshwork {

/// An op without inputs that gives the initial value of a variable.
struct InitialValue {
  const OpDef* op = nullptr;
  Attrs attrs;
  Shape ones = {};  ///< [begin, end): of a vector, the elements that begin at 1 instead
};

/// Inputs of one element of what a kernel gives, and outputs that one element of its input goes to.
struct Fans {
  std::int64_t in = 1;
  std::int64_t out = 1;
};
/// As Keras counts them of a kernel's shape: [in, out] -> in, out; [3, 3, 16, 32] -> 144, 288.
Fans compute_fans(const Shape& shape);

/// The variable whose initial value is wanted.
struct InitRequest {
  const Shape& shape;
  std::uint64_t seed;             ///< of the run
  const std::string& path;        ///< of the variable
  std::optional<Fans> fans = {};  ///< where they are others than compute_fans(shape)
};

/// A Keras initializer with its arguments. Throws Error for a shape it is not for.
using Initializer = std::function<InitialValue(const InitRequest&)>;

/// One initializer, in the list of registry.cpp: its spellings, CamelCase first, and its arguments.
struct InitializerDef {
  std::vector<std::string_view> names;
  Initializer (*read)(config::Reader& args);
};

const std::vector<const InitializerDef*>& initializer_registry();

/// Reads `glorot_uniform`, `GlorotUniform` or `RandomNormal: {stddev: 0.1}`; `fallback` names the
/// initializer that holds where the key is absent. Null is glorot_uniform, as None in Keras.
Initializer read_initializer(config::Reader& args, std::string_view key, std::string_view fallback);
/// The value of such a key, or the initializer of this name without arguments.
Initializer read_initializer(const config::Value& spec);
Initializer read_initializer(std::string_view name);

/// Constant with this value.
Initializer constant_initializer(double value);

/// The same initializer for a kernel with these fans.
Initializer with_fans(Initializer initializer, const Fans& fans);

/// The key of the random stream of a variable. `seed`, an initializer's own argument, takes the
/// place of the run's; the path always counts, so two variables never begin alike.
std::int64_t initial_key(const InitRequest& request, std::optional<std::int64_t> seed);

namespace initializers {
extern const InitializerDef kConstant;
extern const InitializerDef kGlorotNormal;
extern const InitializerDef kGlorotUniform;
extern const InitializerDef kHeNormal;
extern const InitializerDef kHeUniform;
extern const InitializerDef kIdentity;
extern const InitializerDef kLecunNormal;
extern const InitializerDef kLecunUniform;
extern const InitializerDef kOnes;
extern const InitializerDef kOrthogonal;
extern const InitializerDef kRandomNormal;
extern const InitializerDef kRandomUniform;
extern const InitializerDef kTruncatedNormal;
extern const InitializerDef kVarianceScaling;
extern const InitializerDef kZeros;
}  // namespace initializers

}  // namespace meshwork
