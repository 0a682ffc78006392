#include "backend/cpu/reference/kernels.h"

#include <array>

#include "backend/cpu/reference/binary.h"
#include "backend/cpu/reference/unary.h"

namespace meshwork::reference {

std::span<const KernelDef> kernels() {
  static const auto list = std::to_array<KernelDef>({
      {"abs", unary_number<cpu::Abs>},
      {"add", binary<cpu::Add>},
      {"argmax", argmax},
      {"broadcast_to", broadcast_to},
      {"cast", cast},
      {"concatenate", concatenate},
      {"constant", constant},
      {"convolution", convolution},
      {"convolution_input", convolution_input},
      {"convolution_kernel", convolution_kernel},
      {"crossentropy", crossentropy},
      {"crossentropy_gradient", crossentropy_gradient},
      {"divide", binary_float<cpu::Divide>},
      {"einsum", einsum},
      {"equal", binary<cpu::Equal>},
      {"erf", unary<erf_of>},
      {"exp", unary<exp_of>},
      {"floor", unary<floor_of>},
      {"greater", binary<cpu::Greater>},
      {"greater_equal", binary<cpu::GreaterEqual>},
      {"halo_pack", halo_pack},
      {"halo_unpack", halo_unpack},
      {"identity_matrix", identity_matrix},
      {"iota", iota},
      {"log", unary<log_of>},
      {"log1p", unary<log1p_of>},
      {"log_softmax", log_softmax},
      {"max_pool", max_pool},
      {"max_pool_input", max_pool_input},
      {"maximum", binary<cpu::Maximum>},
      {"minimum", binary<cpu::Minimum>},
      {"moments", moments},
      {"multiply", binary<cpu::Multiply>},
      {"negate", unary_number<cpu::Negate>},
      {"one_hot", one_hot},
      {"orthogonal", orthogonal, orthogonal_workspace},
      {"pack", pack},
      {"pad", pad},
      {"pick", pick},
      {"power", binary_float<cpu::Power>},
      {"random_normal", random_normal},
      {"random_uniform", random_uniform},
      {"reduce_max", reduce_max},
      {"reduce_sum", reduce_sum},
      {"relu", unary<relu_of>},
      {"reshape", reshape},
      {"scale_offset", scale_offset},
      {"scale_offset_sums", scale_offset_sums},
      {"select", select},
      {"sigmoid", unary<sigmoid_of>},
      {"sign", unary_number<cpu::Sign>},
      {"slice", slice},
      {"softmax", softmax},
      {"softplus", unary<softplus_of>},
      {"sparsemax", sparsemax, sparsemax_workspace},
      {"sqrt", unary<sqrt_of>},
      {"square", unary_number<cpu::Square>},
      {"subtract", binary<cpu::Subtract>},
      {"sum_pool", sum_pool},
      {"sum_pool_input", sum_pool_input},
      {"tanh", unary<tanh_of>},
      {"transpose", transpose},
      {"truncated_normal", truncated_normal},
      {"unpack", unpack},
  });
  return list;
}

}  // namespace meshwork::reference
