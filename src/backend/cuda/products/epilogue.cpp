#include "backend/cuda/products/epilogue.h"

#include "base/shape.h"

namespace meshwork::cuda::products {
namespace {

constexpr char kText[] = R"cuda(
KERNEL(epilogue, R* y, const R* bias, int64 columns, int64 elements) {
  FOR_EACH(i, elements) y[i] = from_float<R>(finish(to_float(y[i]), bias, columns, i));
}
)cuda";

}  // namespace

Epilogue epilogue_of(const KernelArgs& args) {
  if (args.inputs.size() < 3) return {};
  const TensorView& bias = args.inputs[2];
  return {bias.data, num_elements(bias.type.shape), args.attrs.flag("relu")};
}

std::string define_epilogue(const Epilogue& epilogue) {
  return define("BIAS", epilogue.bias != nullptr) + define("RELU", epilogue.relu);
}

Launch epilogue_launch(CudaStream& stream, const Epilogue& epilogue, DType result, std::byte* y,
                       std::int64_t elements) {
  const Source source{"epilogue", std::string(kEpilogue) + kText,
                      define("R", result) + define_epilogue(epilogue)};
  return kernel_launch(stream, source, source.name, grid_of(elements), y, epilogue.bias,
                       epilogue.columns, elements);
}

}  // namespace meshwork::cuda::products
