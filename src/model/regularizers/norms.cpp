// l1 * sum |w| + l2 * sum w^2
#include "model/losses/loss.h"
#include "model/regularizers/regularizer.h"
#include "ops/ops.h"

namespace meshwork::regularizers {
namespace {

/// Of Keras's L1 and L2.
constexpr double kDefault = 0.01;

Regularizer norms(double l1, double l2) {
  return [l1, l2](GraphBuilder& b, ValueId w) {
    const auto of_l1 = [&] { return ops::scale(b, sum_all(b, ops::abs(b, w)), l1); };
    const auto of_l2 = [&] { return ops::scale(b, sum_all(b, ops::square(b, w)), l2); };
    if (l2 == 0) return of_l1();
    return l1 == 0 ? of_l2() : ops::add(b, of_l1(), of_l2());
  };
}

}  // namespace

const RegularizerDef kL1{.names = {"L1", "l1"}, .read = [](config::Reader& args) {
                           return norms(args.get("l1", kDefault, config::at_least(0)), 0);
                         }};

const RegularizerDef kL2{.names = {"L2", "l2"}, .read = [](config::Reader& args) {
                           return norms(0, args.get("l2", kDefault, config::at_least(0)));
                         }};

const RegularizerDef kL1L2{.names = {"L1L2", "l1l2"}, .read = [](config::Reader& args) {
                             const double l1 = args.get("l1", 0.0, config::at_least(0));
                             return norms(l1, args.get("l2", 0.0, config::at_least(0)));
                           }};

}  // namespace meshwork::regularizers
