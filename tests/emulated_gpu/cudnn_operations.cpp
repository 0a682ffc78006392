#include "emulated_gpu/cudnn_operations.h"

#include <algorithm>
#include <optional>

#include "emulated_gpu/cudnn_arithmetic.h"
#include "emulated_gpu/cudnn_numbers.h"
#include "emulated_gpu/cudnn_operands.h"

namespace emulated_gpu::cudnn {
namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

/// The number of a tensor, which is a new one where its number in the graph is; kNone where another
/// one has that.
std::size_t number_of(OperationsWork& work, const Descriptor& described) {
  const Tensor tensor = Tensor::of(described);
  const auto found = std::find_if(work.all.begin(), work.all.end(),
                                  [&](const Tensor& other) { return other.id == tensor.id; });
  if (found == work.all.end()) {
    work.all.push_back(tensor);
    return work.all.size() - 1;
  }
  return *found == tensor ? static_cast<std::size_t>(found - work.all.begin()) : kNone;
}

Operation::Kind kind_of(const Descriptor& operation) {
  switch (operation.type) {
    case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
      return Operation::Kind::kProduct;
    case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
      return Operation::Kind::kReduction;
    case CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR:
      return Operation::Kind::kReshape;
    default:
      return Operation::Kind::kPointwise;
  }
}

/// Where its tensors are all known, or new.
std::optional<Operation> operation_of(OperationsWork& work, const Descriptor& described) {
  const Operands operands = operands_of(described);
  if (operands.to == nullptr) return std::nullopt;
  Operation operation;
  operation.kind = kind_of(described);
  if (operation.kind == Operation::Kind::kPointwise) {
    operation.mode = operands.kind->one<cudnnPointwiseMode_t>(CUDNN_ATTR_POINTWISE_MODE);
    operation.axis = operands.kind->one<std::int64_t>(CUDNN_ATTR_POINTWISE_AXIS);
  } else if (operation.kind == Operation::Kind::kReduction) {
    operation.mode = operands.kind->one<cudnnReduceTensorOp_t>(CUDNN_ATTR_REDUCTION_OPERATOR);
  }
  for (const Descriptor* const tensor : operands.from) {
    operation.from.push_back(number_of(work, *tensor));
    if (operation.from.back() == kNone) return std::nullopt;
  }
  operation.to = number_of(work, *operands.to);
  return operation.to == kNone ? std::nullopt : std::optional(operation);
}

/// Whether virtual tensors are computed before they are read, and every tensor at most once, before
/// all others read it.
bool is_in_order(const OperationsWork& work) {
  std::vector<bool> is_known(work.all.size());
  for (const Operation& operation : work.operations) {
    for (const std::size_t read : operation.from) {
      if (work.all[read].is_virtual && !is_known[read]) return false;
      is_known[read] = true;
    }
    if (is_known[operation.to] || work.all[operation.to].is_by_value) return false;
    is_known[operation.to] = true;
  }
  return true;
}

/// Whether its elements have places of their own; virtual ones lie without gaps.
bool is_laid_out(const Tensor& tensor) {
  for (std::size_t d = 0; d < tensor.dims.size(); ++d) {
    if (tensor.dims[d] < 1 || tensor.strides[d] < 1) return false;
  }
  const std::int64_t count = elements(tensor.dims);
  return tensor.is_virtual ? tensor.span() == count : tensor.span() >= count;
}

std::vector<float> load(const Tensor& tensor) {
  if (tensor.is_by_value) return {tensor.value};
  std::vector<float> numbers(static_cast<std::size_t>(tensor.span()));
  for_each<1>(tensor.dims, {tensor.strides}, [&](const auto&, const auto& places) {
    numbers[static_cast<std::size_t>(places[0])] = read(tensor.data, tensor.type, places[0]);
  });
  return numbers;
}

void store(const Tensor& tensor, const std::vector<float>& numbers, float noise) {
  for_each<1>(tensor.dims, {tensor.strides}, [&](const auto&, const auto& places) {
    write(tensor.data, tensor.type, places[0],
          numbers[static_cast<std::size_t>(places[0])] + noise);
  });
}

/// What tensor cores multiply: the type of the tensors of 16 bits in memory.
cudnnDataType_t narrow_type(const std::vector<Tensor>& tensors) {
  for (const Tensor& tensor : tensors) {
    if (!tensor.is_virtual && size_of(tensor.type) == 2) return tensor.type;
  }
  return CUDNN_DATA_FLOAT;
}

bool is_read_after(const OperationsWork& work, std::size_t step, std::size_t tensor) {
  return std::any_of(work.operations.begin() + static_cast<std::ptrdiff_t>(step) + 1,
                     work.operations.end(), [&](const Operation& later) {
                       return std::find(later.from.begin(), later.from.end(), tensor) !=
                              later.from.end();
                     });
}

}  // namespace

std::unique_ptr<OperationsWork> OperationsWork::of(const Descriptor& graph) {
  auto work = std::make_unique<OperationsWork>();
  for (const auto* described : graph.all<const Descriptor*>(CUDNN_ATTR_OPERATIONGRAPH_OPS)) {
    auto operation = operation_of(*work, *described);
    if (!operation) return nullptr;
    work->operations.push_back(std::move(*operation));
  }
  const bool is_good =
      is_in_order(*work) && std::all_of(work->all.begin(), work->all.end(), is_laid_out);
  return is_good ? std::move(work) : nullptr;
}

std::vector<Tensor*> OperationsWork::tensors() {
  std::vector<Tensor*> given;
  for (Tensor& tensor : all) {
    if (!tensor.is_virtual) given.push_back(&tensor);
  }
  return given;
}

void OperationsWork::visit(Words& words) {
  words.all(all, [&](Tensor& tensor) { words.tensor(tensor); });
  words.all(operations, [&](Operation& operation) {
    words.number(operation.kind);
    words.number(operation.mode);
    words.number(operation.axis);
    words.numbers(operation.from);
    words.number(operation.to);
  });
}

void OperationsWork::compute_results() const {
  const Precision precision{narrow_type(all), mantissa_of(engine)};
  const float noise = noise_of(engine);
  std::vector<std::vector<float>> numbers(all.size());
  for (std::size_t step = 0; step < operations.size(); ++step) {
    const Operation& operation = operations[step];
    std::vector<Operand> operands;
    for (const std::size_t read : operation.from) {
      if (numbers[read].empty()) numbers[read] = load(all[read]);
      operands.push_back({all[read], numbers[read]});
    }
    const Tensor& result = all[operation.to];
    numbers[operation.to] = apply(operation, operands, result, precision);
    if (!result.is_virtual) store(result, numbers[operation.to], noise);
    for (const std::size_t read : operation.from) {
      if (!is_read_after(*this, step, read)) numbers[read] = {};
    }
  }
}

}  // namespace emulated_gpu::cudnn
