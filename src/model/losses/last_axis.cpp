#include "model/losses/last_axis.h"

#include <utility>

namespace meshwork::losses {

LastAxis::LastAxis(config::Reader& args) {
  const config::Value* const given = args.find("axis");
  if (given == nullptr) return;
  axis_ = given->as_integer("axis");
  at_ = given->at;
}

void LastAxis::check(const Comparison& c) const {
  const auto last = static_cast<std::int64_t>(c.b.shape(c.predictions).size()) - 1;
  if (!axis_ || axis_ == -1 || axis_ == last) return;
  fail_at(at_, "{}: axis {} is not supported yet; leave it out for the last dimension, {}", c.what,
          *axis_, last);
}

CompareFunction along_last(config::Reader& args, CompareFunction compare) {
  return [axis = LastAxis(args), compare = std::move(compare)](const Comparison& c) {
    axis.check(c);
    return compare(c);
  };
}

}  // namespace meshwork::losses
