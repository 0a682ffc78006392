#include "train/numerics.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/conversion.h"
#include "base/join.h"
#include "comm/collectively.h"
#include "graph/op_def.h"
#include "optim/loss_scale.h"
#include "train/logs.h"

namespace meshwork {
namespace {

/// A value with numbers that are not finite, on this device.
struct Finding {
  std::size_t step = 0;  ///< of the executable, from 1; 0: it was there before
  std::string text;
};

/// Where an element of a part is in the global tensor.
Shape global_place(const TensorView& view, std::int64_t element) {
  Shape place = view.region.offset;
  for (std::size_t d = view.type.shape.size(); d-- > 0;) {
    place[d] += element % view.type.shape[d];
    element /= view.type.shape[d];
  }
  return place;
}

std::string describe(const Node& node) {
  const bool is_there = node.op->leaf != Leaf::kNone;
  if (is_there) return fmt::format("{} '{}' has", node.op->name, node.attrs.text("name"));
  const char* phase = node.phase == Phase::kBackward ? " of the backward pass" : "";
  return fmt::format("layer '{}': {}{} gives", node.path, node.op->name, phase);
}

class Checker {
 public:
  Checker(const Session& session, const Executable& executable)
      : session_(session), executable_(executable) {
    const auto& compile = session.job().config.compile;
    may_overflow_ = compile && scales_losses(compile->optimizer);
  }

  void check(ValueId id, std::size_t step) {
    if (found_) return;
    const Phase phase = executable_.plan().program.node(id).phase;
    if (may_overflow_ && (phase == Phase::kBackward || phase == Phase::kUpdate)) return;
    const TensorView view = executable_.view(id);
    const DType dtype = view.type.dtype;
    if (view.data == nullptr || !is_floating(dtype)) return;
    copy_.resize(static_cast<std::size_t>(num_bytes(view.type)));
    session_.download(copy_.data(), view);
    const std::int64_t elements = num_elements(view.type.shape);
    std::int64_t first = elements, bad = 0;
    for (std::int64_t i = 0; i < elements; ++i) {
      if (std::isfinite(at(i, dtype))) continue;
      first = std::min(first, i);
      ++bad;
    }
    if (bad == 0) return;
    found_ = Finding{
        step, fmt::format("{} {} at [{}] of [{}] ({} of {} elements on device {} are not finite)",
                          describe(executable_.plan().program.node(id)),
                          without_nan_sign(at(first, dtype)), join(global_place(view, first), ", "),
                          join(view.region.global, ", "), bad, elements, session_.hosts().rank())};
  }

  const std::optional<Finding>& found() const { return found_; }

 private:
  double at(std::int64_t element, DType dtype) const {
    return value_at(copy_.data() + element * static_cast<std::int64_t>(size_of(dtype)), dtype);
  }

  const Session& session_;
  const Executable& executable_;
  bool may_overflow_ = false;  ///< gradients, of a loss whose scale follows them
  std::vector<std::byte> copy_;
  std::optional<Finding> found_;
};

/// Of the devices that have found something, the one whose program came to it first.
int first_of(const std::vector<std::int64_t>& steps) {
  return static_cast<int>(std::min_element(steps.begin(), steps.end()) - steps.begin());
}

}  // namespace

void run_checked(const Session& session, const Executable& executable) {
  Checker checker(session, executable);
  const Graph& program = executable.plan().program;
  for (const ValueId id : program.ids()) {
    const Leaf leaf = program.node(id).op->leaf;
    if (leaf == Leaf::kInput || leaf == Leaf::kVariable) checker.check(id, 0);
  }
  const auto& steps = executable.steps();
  executable.run([&](std::size_t step) {
    try {
      for (const ValueId id : steps[step].values) checker.check(id, step + 1);
    } catch (const Error& error) {  // of a device that tells late what went wrong
      throw Error(error.code(), fmt::format("{}: {}", executable.describe(step), error.what()));
    }
  });
  constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();
  const std::optional<Finding>& found = checker.found();
  const std::vector<std::int64_t> all =
      gather(session.hosts(), found ? static_cast<std::int64_t>(found->step) : kNone);
  const int first = first_of(all);
  if (all[static_cast<std::size_t>(first)] == kNone) return;
  std::string text = found ? found->text : "";
  broadcast_text(session.hosts(), text, first);
  throw NonFiniteError(text);
}

}  // namespace meshwork
