#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "backend/backend.h"
#include "backend/cuda/elementwise/broadcast.h"
#include "backend/cuda/elementwise/symbol.h"

namespace meshwork::cuda {

/// What a member reads.
struct FusedValue {
  DType dtype;
  std::string stored;  ///< the name of what stands in memory
  std::string number;  ///< of what is computed with: of floats of 16 bits a float
};

/// The value of an expression, which gets a name.
FusedValue named(Writer& writer, DType dtype, const std::string& expression);

/// That of an elementwise member.
FusedValue computed(Writer& writer, const FusionGroup::Member& member,
                    const std::vector<FusedValue>& operands);

/// The numbers that a group takes in, and the value of the one that is member `member`, which a
/// kernel finds in its parameters.
std::vector<float> numbers_of(const FusionGroup& group);
FusedValue number_in(Writer& writer, const FusionGroup& group, std::size_t member);

/// Takes the number `rest` of an element of a nest of so many dimensions (Nest) apart: c0, c1, ..
/// are its coordinates.
std::string coordinates(std::size_t rank);
/// Of these, those along which an operand moves, as a number of one of its elements; "" for none.
std::string offset_along(const Moves& moves);

/// What kernels of fusion groups are written with: WIDTH, PLACES, NUMBERS, RANK and Index are
/// defined before it.
inline constexpr std::string_view kFusedHelpers = R"cuda(
// Elements that a thread takes at a time.
template <class T>
struct alignas(sizeof(T) * WIDTH < 16 ? sizeof(T) * WIDTH : 16) Lanes {
  T at[WIDTH];
};
#define EACH_LANE(l) _Pragma("unroll") for (int l = 0; l < WIDTH; ++l)

struct Places {
  void* at[PLACES];
};
struct Numbers {
  float at[NUMBERS];
};
struct Dims {
  Divisor at[RANK];
};

template <class T>
DEVICE Lanes<T> vector_at(const T* x) {
  return *(const Lanes<T>*)x;
}
template <class T>
DEVICE Lanes<T> filled(T x) {
  Lanes<T> lanes;
  EACH_LANE(l) lanes.at[l] = x;
  return lanes;
}
template <class T>
DEVICE void store(T* y, const Lanes<T>& lanes) {
  *(Lanes<T>*)y = lanes;
}
)cuda";

}  // namespace meshwork::cuda
