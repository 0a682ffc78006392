#include "base/rng.h"
#include "config/lookup.h"
#include "model/arguments.h"
#include "model/initializers/initializer.h"

namespace meshwork {

const std::vector<const InitializerDef*>& initializer_registry() {
  static const std::vector<const InitializerDef*> registry = {
      &initializers::kConstant,
      &initializers::kGlorotNormal,
      &initializers::kGlorotUniform,
      &initializers::kHeNormal,
      &initializers::kHeUniform,
      &initializers::kIdentity,
      &initializers::kLecunNormal,
      &initializers::kLecunUniform,
      &initializers::kOnes,
      &initializers::kOrthogonal,
      &initializers::kRandomNormal,
      &initializers::kRandomUniform,
      &initializers::kTruncatedNormal,
      &initializers::kVarianceScaling,
      &initializers::kZeros,
  };
  return registry;
}

namespace {

Initializer read(const config::ClassSpec& initializer) {
  return config::read_named(initializer_registry(), initializer, "initializer");
}

}  // namespace

Initializer read_initializer(config::Reader& args, std::string_view key,
                             std::string_view fallback) {
  const config::Value* spec = args.find(key);
  if (spec != nullptr) return read_initializer(*spec);
  return read_initializer(is_null(args, key) ? "glorot_uniform" : fallback);
}

Initializer read_initializer(const config::Value& spec) {
  return read(config::read_class(spec, "initializer"));
}

Initializer read_initializer(std::string_view name) { return read({std::string(name), {}, {}}); }

Initializer with_fans(Initializer initializer, const Fans& fans) {
  return [initializer = std::move(initializer), fans](InitRequest request) {
    request.fans = fans;
    return initializer(request);
  };
}

std::int64_t initial_key(const InitRequest& request, std::optional<std::int64_t> seed) {
  const std::uint64_t base = seed ? static_cast<std::uint64_t>(*seed) : request.seed;
  return static_cast<std::int64_t>(random_key(base, request.path));
}

}  // namespace meshwork
