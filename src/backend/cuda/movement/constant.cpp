// y = value everywhere
#include <array>
#include <cstring>

#include "backend/convert.h"
#include "backend/cuda/index.h"
#include "backend/cuda/kernel.h"
#include "backend/cuda/movement/kernels.h"
#include "backend/types.h"

namespace meshwork::cuda {
namespace {

// Words of the value, side by side.
constexpr char kText[] = R"cuda(
KERNEL(constant, T* y, T word, int64 words) { FOR_EACH(i, words) y[i] = word; }
)cuda";

/// The kernel takes as many of these bytes as its words have.
struct alignas(16) Word {
  std::array<std::byte, 16> bytes;
};

Word filled(DType dtype, double value) {
  Word word{};
  with_type(dtype, [&](auto number) {
    const auto element = convert<decltype(number)>(value);
    for (std::size_t i = 0; i < word.bytes.size(); i += sizeof element) {
      std::memcpy(&word.bytes.at(i), &element, sizeof element);
    }
  });
  return word;
}

}  // namespace

Launch constant(const KernelArgs& args) {
  const TensorView& y = args.output;
  const std::int64_t bytes = word_bytes({address_of(y.data), num_bytes(y.type)});
  const Source source{"constant", std::string(kIndexText) + kText,
                      define_index(0) + define_word("T", bytes)};
  const std::int64_t words = num_bytes(y.type) / bytes;
  return launch_over(args, source, words, y.data, filled(y.type.dtype, args.attrs.real("value")),
                     words);
}

}  // namespace meshwork::cuda
