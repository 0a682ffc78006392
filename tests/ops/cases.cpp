#include "ops/cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "backend/convert.h"
#include "base/check.h"
#include "base/rng.h"
#include "graph/attention_options.h"
#include "ops/case_lists.h"

namespace meshwork {
namespace {

/// A stream of uniform [0, 1) numbers for one operand.
class Draws {
 public:
  explicit Draws(const std::string& name) : key_(random_key(1, name)) {}
  double next() { return uniform_at(key_, 0, count_++); }

 private:
  std::uint64_t key_;
  std::uint64_t count_ = 0;
};

double draw_smooth(const OpCase& op_case, const CaseInput& input, Draws& draws) {
  const auto near = [&](double x) {
    return std::any_of(op_case.kinks.begin(), op_case.kinks.end(),
                       [&](double kink) { return std::abs(x - kink) < kKinkMargin; });
  };
  for (;;) {
    const double x = input.low + (input.high - input.low) * draws.next();
    if (!near(x)) return x;
  }
}

/// A permutation of so many numbers from `low` on, `step` apart.
std::vector<double> draw_distinct(std::size_t count, double low, double step, Draws& draws) {
  std::vector<double> result(count);
  for (std::size_t i = 0; i < count; ++i) result[i] = low + step * static_cast<double>(i);
  for (std::size_t i = count; i-- > 1;) {
    std::swap(result[i],
              result[static_cast<std::size_t>(draws.next() * static_cast<double>(i + 1))]);
  }
  return result;
}

/// How many of the first operands of an op may be bfloat16; those behind them are float32 always.
std::size_t narrow_operands(const OpDef& op) {
  for (const OpDef* one : {&ops::kCrossentropy, &ops::kCrossentropyGradient, &ops::kRotary,
                           &ops::kScaleOffset, &ops::kShiftedSums}) {
    if (&op == one) return 1;
  }
  if (&op == &ops::kAttention || &op == &ops::kAttentionLogSum) return 3;
  for (const OpDef* gradient : {&ops::kAttentionQueryGradient, &ops::kAttentionKeyGradient,
                                &ops::kAttentionValueGradient}) {
    if (&op == gradient) return 4;
  }
  return std::string::npos;
}

/// Also the result of attention, where gradients read it.
bool may_be_narrow(const OpCase& op_case, std::size_t operand) {
  if (operand < narrow_operands(*op_case.op)) return true;
  return operand == kAttentionDeltaOperand && op_case.attrs.find("with_result") != nullptr;
}

template <class T>
void store(HostTensor& tensor, const std::vector<double>& elements) {
  std::transform(elements.begin(), elements.end(), tensor.as<T>().begin(),
                 [](double x) { return convert<T>(x); });
}

}  // namespace

HostTensor draw(const OpCase& op_case, std::size_t index) {
  const CaseInput& input = op_case.inputs[index];
  Draws draws(fmt::format("{} {}", op_case.name, index));
  std::vector<double> elements(static_cast<std::size_t>(num_elements(input.type.shape)));
  switch (input.kind) {
    case CaseInput::Kind::kUniform:
      for (double& x : elements) x = draw_smooth(op_case, input, draws);
      break;
    case CaseInput::Kind::kDistinct:
      elements = draw_distinct(elements.size(), -static_cast<double>(elements.size() / 2) / 8,
                               1.0 / 8, draws);
      break;
    case CaseInput::Kind::kNumbers:
      elements = draw_distinct(elements.size(), input.low, 1, draws);
      break;
    case CaseInput::Kind::kIntegers:
      for (double& x : elements) {
        x = input.low + std::floor((input.high - input.low + 1) * draws.next());
      }
      break;
  }
  HostTensor tensor = host_tensor(input.type);
  switch (input.type.dtype) {
    case DType::kFloat32:
      store<float>(tensor, elements);
      break;
    case DType::kInt32:
      store<std::int32_t>(tensor, elements);
      break;
    case DType::kInt64:
      store<std::int64_t>(tensor, elements);
      break;
    case DType::kUInt8:
      store<std::uint8_t>(tensor, elements);
      break;
    case DType::kBFloat16:
      store<BFloat16>(tensor, elements);
      break;
    case DType::kFloat16:
      store<Float16>(tensor, elements);
      break;
    default:
      MW_CHECK(false, "a case of {}", to_string(input.type.dtype));
  }
  return tensor;
}

CaseInput uniform(Shape shape, double low, double high) {
  return {{DType::kFloat32, std::move(shape)}, CaseInput::Kind::kUniform, low, high};
}

CaseInput distinct(Shape shape) {
  return {{DType::kFloat32, std::move(shape)}, CaseInput::Kind::kDistinct, 0, 0};
}

CaseInput integers(DType dtype, Shape shape, double low, double high) {
  return {{dtype, std::move(shape)}, CaseInput::Kind::kIntegers, low, high};
}

TensorType float32(Shape shape) { return {DType::kFloat32, std::move(shape)}; }

OpCase make_case(const OpDef& op, std::vector<CaseInput> inputs, Attrs attrs, TensorType output,
                 std::vector<std::size_t> differentiable) {
  std::string name(op.name);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const TensorType& type = inputs[i].type;
    name += (i > 0 ? ", " : " ");
    name += type.dtype == DType::kFloat32 ? to_string(type.shape) : to_string(type);
  }
  if (!attrs.entries().empty()) name += " " + to_string(attrs);
  OpCase result;
  result.name = std::move(name);
  result.op = &op;
  result.inputs = std::move(inputs);
  result.attrs = std::move(attrs);
  result.output = std::move(output);
  result.differentiable = std::move(differentiable);
  return result;
}

TensorType inferred(const OpCase& op_case, const std::vector<TensorType>& inputs) {
  return op_case.op->infer({.inputs = inputs,
                            .attrs = op_case.attrs,
                            .output = {},
                            .collective = op_case.collective ? &*op_case.collective : nullptr});
}

ValueId append(GraphBuilder& b, const OpCase& op_case, std::vector<ValueId> inputs) {
  if (!op_case.collective) return b.add(*op_case.op, std::move(inputs), op_case.attrs);
  std::vector<TensorType> types;
  for (const ValueId input : inputs) types.push_back(b.type(input));
  return b.graph().nodes.append({.op = op_case.op,
                                 .inputs = std::move(inputs),
                                 .attrs = op_case.attrs,
                                 .type = inferred(op_case, types),
                                 .path = {},
                                 .collective = op_case.collective});
}

const std::vector<OpCase>& op_cases() {
  static const std::vector<OpCase> cases = [] {
    std::vector<OpCase> all = elementwise_cases();
    for (const auto& part :
         {reduce_cases(), movement_cases(), window_cases(), attention_cases(), expert_cases()}) {
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }();
  return cases;
}

OpCase in_float32(const OpCase& op_case) {
  OpCase wide = op_case;
  for (CaseInput& input : wide.inputs) {
    if (is_narrow_float(input.type.dtype)) input.type.dtype = DType::kFloat32;
  }
  if (is_narrow_float(wide.output.dtype)) wide.output.dtype = DType::kFloat32;
  return wide;
}

namespace {

std::vector<OpCase> make_narrow_cases(DType narrow_dtype) {
  std::vector<OpCase> all;
  for (const OpCase& op_case : op_cases()) {
    const bool is_conversion =
        op_case.op == &ops::kConvert || op_case.op == &ops::kTakeRows;  // nothing stores 16 bits
    if (op_case.op == &ops::kCast || op_case.op == &ops::kSamples || is_conversion) {
      continue;
    }
    OpCase narrow = op_case;
    int changed = 0;
    for (std::size_t i = 0; i < narrow.inputs.size(); ++i) {
      TensorType& type = narrow.inputs[i].type;
      if (type.dtype != DType::kFloat32 || !may_be_narrow(op_case, i)) continue;
      type.dtype = narrow_dtype;
      ++changed;
    }
    if (changed == 0) continue;
    narrow.name += fmt::format(" of {}", to_string(narrow_dtype));
    std::vector<TensorType> types;
    for (const CaseInput& input : narrow.inputs) types.push_back(input.type);
    narrow.output = inferred(narrow, types);
    all.push_back(narrow);
    if (!op_case.op->wide_result) continue;
    narrow.name += " to float32";
    narrow.attrs.set("dtype", "float32");
    narrow.output.dtype = DType::kFloat32;
    narrow.differentiable.clear();
    all.push_back(narrow);
  }
  return all;
}

}  // namespace

const std::vector<OpCase>& narrow_cases(DType narrow) {
  static const std::vector<OpCase> bfloat16 = make_narrow_cases(DType::kBFloat16);
  static const std::vector<OpCase> float16 = make_narrow_cases(DType::kFloat16);
  return narrow == DType::kBFloat16 ? bfloat16 : float16;
}

}  // namespace meshwork
