#include "backend/cuda/elementwise/formulas.h"

#include <algorithm>
#include <array>
#include <utility>

#include "elementwise/all.h"

namespace meshwork::cuda {
namespace {

using elementwise::Types;
using Operands = std::span<const std::string>;

/// A number of whatever type, which is chosen and never computed with.
struct Chosen {};

template <class Entry, class... X, std::size_t... I>
std::string written(Writer& writer, Operands operands, std::index_sequence<I...>) {
  MW_CHECK(operands.size() == sizeof...(X), "{} operands", operands.size());
  return Entry::apply(Symbol<X>(writer, operands[I])...).text();
}

template <class Entry, class... X>
std::string written(Writer& writer, Operands operands) {
  return written<Entry, X...>(writer, operands, std::index_sequence_for<X...>());
}

template <class Entry, class T>
std::string written_of(Writer& writer, Operands operands) {
  if constexpr (elementwise::operand_count<Entry>() == 1) {
    return written<Entry, T>(writer, operands);
  } else {
    return written<Entry, T, T>(writer, operands);
  }
}

template <class Entry>
std::string write_entry(Writer& writer, DType dtype, Operands operands) {
  constexpr Types kTypes = Entry::kTraits.types;
  if constexpr (kTypes == Types::kChoice) {
    return written<Entry, float, Chosen, Chosen>(writer, operands);
  } else {
    if (dtype == DType::kFloat32) return written_of<Entry, float>(writer, operands);
    if constexpr (kTypes != Types::kReal) {
      if (dtype == DType::kInt32) return written_of<Entry, std::int32_t>(writer, operands);
      if (dtype == DType::kInt64) return written_of<Entry, std::int64_t>(writer, operands);
    }
    MW_CHECK(false, "'{}' of {}", Entry::kTraits.name, to_string(dtype));
    return {};
  }
}

// Ops of an elementwise formula that are no entries of the list: their shapes are their own.

std::string same(Writer& /*writer*/, DType /*dtype*/, Operands operands) { return operands[0]; }

struct ScaleOffset {
  template <class T>
  static T apply(T x, T scale, T offset) {
    return x * scale + offset;
  }
};

std::string scale_offset(Writer& writer, DType dtype, Operands operands) {
  MW_CHECK(dtype == DType::kFloat32, "'scale_offset' of {}", to_string(dtype));
  return written<ScaleOffset, float, float, float>(writer, operands);
}

using Named = std::pair<std::string_view, WriteFormula>;

template <class... Entries>
auto all_formulas(elementwise::List<Entries...>) {
  return std::to_array<Named>({{"broadcast_to", same},
                               {"cast", same},
                               {"scale_offset", scale_offset},
                               {Entries::kTraits.name, write_entry<Entries>}...});
}

}  // namespace

WriteFormula find_formula(std::string_view op) {
  static const auto list = all_formulas(elementwise::All{});
  const auto* const found =
      std::find_if(list.begin(), list.end(), [&](const Named& named) { return named.first == op; });
  return found == list.end() ? nullptr : found->second;
}

}  // namespace meshwork::cuda
