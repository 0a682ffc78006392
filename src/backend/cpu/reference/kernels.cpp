#include "backend/cpu/reference/kernels.h"

#include <array>

#include "backend/cpu/reference/binary.h"
#include "backend/cpu/reference/unary.h"
#include "backend/cpu/widen.h"

namespace meshwork::reference {

std::span<const KernelDef> kernels() {
  static const auto list = std::to_array<KernelDef>({
      cpu::widened<unary_number<cpu::Abs>>("abs"),
      cpu::widened<binary<cpu::Add>>("add"),
      cpu::widened<add_part>("add_part"),
      cpu::widened<argmax>("argmax"),
      {"broadcast_to", broadcast_to},
      {"cast", cast},
      {"concatenate", concatenate},
      {"constant", constant},
      cpu::widened<convolution>("convolution"),
      cpu::widened<convolution_input>("convolution_input"),
      cpu::widened<convolution_kernel>("convolution_kernel"),
      {"crossentropy", crossentropy},
      {"crossentropy_gradient", crossentropy_gradient},
      cpu::widened<binary_float<cpu::Divide>>("divide"),
      cpu::widened<einsum>("einsum"),
      cpu::widened<binary<cpu::Equal>>("equal"),
      cpu::widened<unary<erf_of>>("erf"),
      cpu::widened<unary<exp_of>>("exp"),
      cpu::widened<unary<floor_of>>("floor"),
      cpu::widened<binary<cpu::Greater>>("greater"),
      cpu::widened<binary<cpu::GreaterEqual>>("greater_equal"),
      {"halo_pack", halo_pack},
      {"halo_unpack", halo_unpack},
      {"identity_matrix", identity_matrix},
      {"iota", iota},
      cpu::widened<unary<log_of>>("log"),
      cpu::widened<unary<log1p_of>>("log1p"),
      cpu::widened<log_softmax>("log_softmax"),
      cpu::widened<max_pool>("max_pool"),
      cpu::widened<max_pool_input>("max_pool_input"),
      cpu::widened<binary<cpu::Maximum>>("maximum"),
      cpu::widened<binary<cpu::Minimum>>("minimum"),
      cpu::widened<moments>("moments"),
      cpu::widened<binary<cpu::Multiply>>("multiply"),
      cpu::widened<unary_number<cpu::Negate>>("negate"),
      {"one_hot", one_hot},
      {"orthogonal", orthogonal, orthogonal_workspace},
      {"pack", pack},
      {"pad", pad},
      {"pick", pick},
      cpu::widened<binary_float<cpu::Power>>("power"),
      {"random_normal", random_normal},
      {"random_uniform", random_uniform},
      cpu::widened<reduce_max>("reduce_max"),
      cpu::widened<reduce_sum>("reduce_sum"),
      cpu::widened<unary<relu_of>>("relu"),
      {"reshape", reshape},
      cpu::widened<scale_offset>("scale_offset"),
      cpu::widened<scale_offset_sums>("scale_offset_sums"),
      {"select", select},
      cpu::widened<unary<sigmoid_of>>("sigmoid"),
      cpu::widened<unary_number<cpu::Sign>>("sign"),
      {"slice", slice},
      cpu::widened<softmax>("softmax"),
      cpu::widened<unary<softplus_of>>("softplus"),
      cpu::widened<sparsemax, sparsemax_workspace>("sparsemax"),
      cpu::widened<unary<sqrt_of>>("sqrt"),
      cpu::widened<unary_number<cpu::Square>>("square"),
      cpu::widened<binary<cpu::Subtract>>("subtract"),
      cpu::widened<sum_pool>("sum_pool"),
      cpu::widened<sum_pool_input>("sum_pool_input"),
      cpu::widened<unary<tanh_of>>("tanh"),
      {"transpose", transpose},
      {"truncated_normal", truncated_normal},
      {"unpack", unpack},
  });
  return list;
}

}  // namespace meshwork::reference
