// y = the sum, a multiple of it, the sum of squares or the maximum of x over `axes`; floats of 16
// bits are added up in float32 and rounded once
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "backend/cuda/kernels.h"
#include "backend/cuda/reductions/fold.h"
#include "backend/cuda/reductions/kernels.h"

namespace meshwork::cuda {
namespace {

Fold squares() {
  return {"sum_of_squares", "#define READ squared\n#define FOLD added\n#define NOTHING 0\n"};
}

Fold max_of(DType dtype) {
  const char* const least = dtype == DType::kInt32   ? "(-2147483647 - 1)"
                            : dtype == DType::kInt64 ? "(-9223372036854775807LL - 1)"
                                                     : "-MW_INFINITY";
  return {"reduce_max",
          fmt::format("#define READ\n#define FOLD greatest\n#define NOTHING {}\n", least)};
}

/// Of a sum's result.
float factor_of(const Attrs& attrs) {
  return attrs.find("factor") == nullptr ? 1 : static_cast<float>(attrs.real("factor"));
}

Launch reduce(const KernelArgs& args, const Fold& fold, const Fold& of_parts) {
  const FoldCall call{args.inputs[0], args.output,    args.attrs.integers("axes"), fold,
                      of_parts,       args.workspace, factor_of(args.attrs)};
  return bind_folds({&call, 1}, stream_of(args));
}

struct Sum {
  std::string_view op;
  Fold (*fold)();
};
constexpr std::array kSums{Sum{"reduce_sum", sum}, Sum{"sum_of_squares", squares},
                           Sum{"scaled_sum", sum}};

/// nullptr if the group is not one of these alone.
const Sum* find_sum(const FusionGroup& group) {
  const auto* const found = std::find_if(kSums.begin(), kSums.end(), [&](const Sum& each) {
    return each.op == group.members.front().op;
  });
  return group.members.size() == 1 && found != kSums.end() ? found : nullptr;
}

}  // namespace

std::int64_t reduce_workspace(const KernelArgs& args) {
  return fold_scratch(args.inputs[0], args.attrs.integers("axes"),
                      num_elements(args.output.type.shape));
}

Launch reduce_sum(const KernelArgs& args) { return reduce(args, sum(), sum()); }

Launch scaled_sum(const KernelArgs& args) { return reduce(args, sum(), sum()); }

Launch sum_of_squares(const KernelArgs& args) { return reduce(args, squares(), sum()); }

Launch reduce_max(const KernelArgs& args) {
  const Fold max = max_of(args.inputs[0].type.dtype);
  return reduce(args, max, max);
}

std::vector<std::string_view> sums_beside_others() {
  std::vector<std::string_view> ops;
  for (const Sum& each : kSums) ops.push_back(each.op);
  return ops;
}

std::optional<Launch> bind_sums(std::span<const FusionGroup> groups, CudaStream& stream) {
  std::vector<FoldCall> calls;
  for (const FusionGroup& group : groups) {
    const Sum* const found = find_sum(group);
    if (found == nullptr) return std::nullopt;
    const FusionGroup::Member& member = group.members.front();
    calls.push_back({group.inputs.front(), member.output, member.attrs.integers("axes"),
                     found->fold(), sum(), group.workspace, factor_of(member.attrs)});
  }
  return bind_folds(calls, stream);
}

std::int64_t sums_workspace(const FusionGroup& group) {
  const FusionGroup::Member& member = group.members.front();
  return fold_scratch(group.inputs.front(), member.attrs.integers("axes"),
                      num_elements(member.output.type.shape));
}

}  // namespace meshwork::cuda
