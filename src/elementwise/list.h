#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <type_traits>

#include "graph/op_def.h"

/// Ops whose result at an index depends on the operands there alone, each said once: an entry is a
/// struct that holds all of it, as templates over the number that is computed with.
///
///     struct Name {
///       static constexpr Traits kTraits{..};
///       template <class T> static T apply(T x, ..);
///       template <class T> static T exact(T x, ..);
///       template <class V> static V gradient(V x, .., V y, V dy);
///     };
///     inline constexpr const OpDef& kName = kOp<Name>;
///
/// `apply` is what kernels and fused passes compute, without branches, in the words of number.h: T
/// is a float, a whole number, or what writes the formula down for a generator of code. `exact` is
/// what it approximates, in functions of <cmath>, for the naive kernel in double precision; where
/// there is none, apply is exact. `gradient` gives one V, of several operands an array of them: a V
/// is a value of a graph, with operators, V::of<Entry>(..), constant(c, like) and sum_to(x, like);
/// where there is none, the op is not differentiable.
///
/// From the list come the op (ops/), the step of fused passes, the kernel and the naive kernel
/// (backend/) of each entry.
namespace meshwork::elementwise {

/// Of what an op takes and gives; with numpy broadcasting.
enum class Types {
  kReal,    ///< float32, bfloat16 or float16 of the same
  kNumber,  ///< int32 and int64 too
  kTruth,   ///< 0 or 1 of two numbers: of floats of 16 bits the same, float32 of all else
  kChoice,  ///< (condition, a, b): a condition that is floating, a and b of any one type
};

struct Traits {
  std::string_view name;
  Types types = Types::kReal;
  Linear linear = Linear::kNo;
  bool folds = false;  ///< one operation of IEEE 754: constants are folded
  double ulps = 0;     ///< bound of the error of `apply` over all floats
};

template <class... Entries>
struct List {
  static constexpr std::size_t kSize = sizeof...(Entries);
};

/// Sorted by name.
// clang-format off
using All = List<
    struct Abs,
    struct Add,
    struct Cosine,
    struct Divide,
    struct Equal,
    struct Erf,
    struct Exp,
    struct Expm1,
    struct Floor,
    struct Greater,
    struct GreaterEqual,
    struct Log,
    struct Log1p,
    struct Maximum,
    struct Minimum,
    struct Multiply,
    struct Negate,
    struct Power,
    struct Relu,
    struct Select,
    struct Sigmoid,
    struct Sign,
    struct Sine,
    struct Softplus,
    struct Sqrt,
    struct Square,
    struct Subtract,
    struct Tanh>;
// clang-format on

/// The ops of the list, in its order (ops/elementwise.cpp).
extern const std::array<OpDef, All::kSize> kOps;

template <class Entry, class... Entries>
constexpr std::size_t index_in(List<Entries...>) {
  std::size_t index = 0;
  (void)((std::is_same_v<Entry, Entries> || (++index, false)) || ...);
  return index;
}

/// The op of an entry.
template <class Entry>
inline constexpr const OpDef& kOp = kOps[index_in<Entry>(All{})];

/// How many operands an entry has.
template <class Entry>
constexpr std::size_t operand_count() {
  if constexpr (requires(float x) { Entry::apply(x); }) return 1;
  if constexpr (requires(float x) { Entry::apply(x, x); }) return 2;
  return 3;
}

}  // namespace meshwork::elementwise
