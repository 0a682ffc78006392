#include <algorithm>

#include "base/nearest.h"
#include "model/field_value.h"
#include "model/input_fields.h"
#include "model/layer_graph.h"
#include "ops/ops.h"

namespace meshwork {
namespace {

/// The field of the data that feeds an input of the model.
const Field& fed_by(const config::InputSpec& input, const config::ModelSpec& model,
                    const Signature& signature, const std::vector<std::string>& labels) {
  std::vector<std::string> fields;
  for (const Field& field : signature.inputs) fields.push_back(field.name);
  const std::optional<std::string> name = field_for(input, model, fields, labels);
  if (!name) {
    fail_at(input.at, "input '{}': the dataset gives no such field{}", input.name,
            suggestion(input.name, fields));
  }
  return *std::ranges::find(signature.inputs, *name, &Field::name);
}

/// Whether the shapes differ by no more than a last dimension of one.
bool same_but_for_last_one(const Shape& a, const Shape& b) {
  const Shape& longer = a.size() > b.size() ? a : b;
  const Shape& shorter = a.size() > b.size() ? b : a;
  if (longer == shorter) return true;
  return longer.size() == shorter.size() + 1 && longer.back() == 1 &&
         std::equal(shorter.begin(), shorter.end(), longer.begin());
}

Shape with_batch(Shape shape, std::int64_t batch) {
  shape.insert(shape.begin(), batch);
  return shape;
}

}  // namespace

std::vector<ModelInput> add_inputs(GraphBuilder& b, const config::ModelSpec& model,
                                   const Signature& signature,
                                   const std::vector<std::string>& labels, std::int64_t batch) {
  std::vector<ModelInput> result;
  for (const config::InputSpec& input : model.inputs) {
    const Field& field = fed_by(input, model, signature, labels);
    if (!same_but_for_last_one(input.shape, field.shape)) {
      fail_at(input.at,
              "input '{}' is {}, but samples of '{}' in the dataset are {}; write input: {}",
              input.name, to_string(input.shape), field.name, to_string(field.shape),
              to_string(field.shape));
    }
    ValueId value = field_value(b, field, batch);
    value = ops::cast(b, value, input.dtype);
    value = ops::reshape(b, value, with_batch(input.shape, batch));
    b.graph().layer_outputs.push_back({input.name + "/output", value});
    result.push_back({input.name, value});
  }
  return result;
}

}  // namespace meshwork
