#include <algorithm>

#include "base/document_fields.h"
#include "base/nearest.h"
#include "model/field_value.h"
#include "model/layer_graph.h"
#include "ops/ops.h"

namespace meshwork {
namespace {

bool is_among(const std::string& name, const std::vector<std::string>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// The field of the data that feeds an input of the model: of its name, or the only one.
const Field& field_for(const config::InputSpec& input, const Signature& signature,
                       const std::vector<std::string>& labels, std::size_t model_inputs) {
  std::vector<std::string> names;
  std::vector<const Field*> candidates;
  for (const Field& field : signature.inputs) {
    if (field.name == input.name) return field;
    names.push_back(field.name);
    if (is_document_field(field.name)) continue;
    if (!is_among(field.name, labels)) candidates.push_back(&field);
  }
  if (model_inputs == 1 && candidates.size() == 1) return *candidates[0];
  if (model_inputs == 1 && signature.inputs.size() == 1) return signature.inputs[0];
  fail_at(input.at, "input '{}': the dataset gives no such field{}", input.name,
          suggestion(input.name, names));
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
    const Field& field = field_for(input, signature, labels, model.inputs.size());
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
