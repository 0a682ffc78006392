#include "comm/call_text.h"

#include <fmt/format.h>

#include <array>
#include <functional>
#include <string_view>

#include "base/shape.h"

namespace meshwork {

std::string describe(const CollectiveCall& call) {
  constexpr std::array<std::string_view, 4> kNames{"all_reduce", "reduce_scatter", "all_gather",
                                                   "all_to_all"};
  std::vector<std::int64_t> counts = call.counts;
  if (call.kind == CollectiveCall::Kind::kAllReduce) counts = {call.count};
  if (call.kind == CollectiveCall::Kind::kAllToAll) counts.clear();
  return fmt::format("{} of {} x {}, {}{}", kNames[static_cast<std::size_t>(call.kind)],
                     to_string(counts), to_string(call.dtype), to_string(call.reduction),
                     call.purpose.empty() ? "" : ", for " + call.purpose);
}

std::int64_t number_of(const std::string& text) {
  return static_cast<std::int64_t>(std::hash<std::string>{}(text));
}

}  // namespace meshwork
