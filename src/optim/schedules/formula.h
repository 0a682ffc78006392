#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>

#include "ops/ops.h"
#include "optim/schedules/schedule.h"

/// The words in which schedules say their formulas, beside operators: a number is a float, or a
/// float32 scalar of a program. Both are computed in the same order.
namespace meshwork::schedules {

/// A scalar of a program.
class ProgramNumber {
 public:
  ProgramNumber(GraphBuilder& b, ValueId id) : b_(&b), id_(id) {}

  ValueId id() const { return id_; }

  /// Of two operands one may be a float.
  static ProgramNumber of(const OpDef& op, ProgramNumber x) {
    return {*x.b_, x.b_->add(op, {x.id_})};
  }
  static ProgramNumber of(const OpDef& op, ProgramNumber x, ProgramNumber y) {
    return {*x.b_, x.b_->add(op, {x.id_, y.id_})};
  }
  static ProgramNumber of(const OpDef& op, ProgramNumber x, float y) {
    return of(op, x, x.constant(y));
  }
  static ProgramNumber of(const OpDef& op, float x, ProgramNumber y) {
    return of(op, y.constant(x), y);
  }

  friend ProgramNumber choose(ProgramNumber condition, ProgramNumber a, ProgramNumber b) {
    return {*a.b_, a.b_->add(ops::kSelect, {condition.id_, a.id_, b.id_})};
  }
  ProgramNumber constant(float value) const {
    return {*b_, ops::constant(*b_, static_cast<double>(value))};
  }

 private:
  GraphBuilder* b_;
  ValueId id_;
};

/// Two numbers that are not both floats.
template <class X, class Y>
concept OfProgram = std::same_as<X, ProgramNumber> || std::same_as<Y, ProgramNumber>;

template <class X, class Y>
requires OfProgram<X, Y> ProgramNumber operator+(X x, Y y) {
  return ProgramNumber::of(ops::kAdd, x, y);
}
template <class X, class Y>
requires OfProgram<X, Y> ProgramNumber operator-(X x, Y y) {
  return ProgramNumber::of(ops::kSubtract, x, y);
}
template <class X, class Y>
requires OfProgram<X, Y> ProgramNumber operator*(X x, Y y) {
  return ProgramNumber::of(ops::kMultiply, x, y);
}
template <class X, class Y>
requires OfProgram<X, Y> ProgramNumber operator/(X x, Y y) {
  return ProgramNumber::of(ops::kDivide, x, y);
}
/// 1 or 0.
template <class X, class Y>
requires OfProgram<X, Y> ProgramNumber operator>(X x, Y y) {
  return ProgramNumber::of(ops::kGreater, x, y);
}
template <class X, class Y>
requires OfProgram<X, Y> ProgramNumber pow(X x, Y y) {
  return ProgramNumber::of(ops::kPower, x, y);
}
template <class X, class Y>
requires OfProgram<X, Y> ProgramNumber least(X x, Y y) {
  return ProgramNumber::of(ops::kMinimum, x, y);
}

using std::cos;
using std::floor;
using std::log;
using std::pow;

inline ProgramNumber cos(ProgramNumber x) { return ProgramNumber::of(ops::kCosine, x); }
inline ProgramNumber floor(ProgramNumber x) { return ProgramNumber::of(ops::kFloor, x); }
inline ProgramNumber log(ProgramNumber x) { return ProgramNumber::of(ops::kLog, x); }

inline float least(float x, float y) { return std::min(x, y); }

inline float ceiling(float x) { return std::ceil(x); }
inline ProgramNumber ceiling(ProgramNumber x) { return 0.0F - floor(0.0F - x); }

inline float choose(bool condition, float a, float b) { return condition ? a : b; }

/// A constant as a number such as `like`.
inline float constant(float value, float /*like*/) { return value; }
inline ProgramNumber constant(float value, ProgramNumber like) { return like.constant(value); }

/// A schedule of a formula, a function of the step.
template <class Formula>
Schedule schedule(Formula formula) {
  return {
      [formula](float step) -> float { return formula(step); },
      [formula](GraphBuilder& b, ValueId step) { return formula(ProgramNumber(b, step)).id(); }};
}

}  // namespace meshwork::schedules
