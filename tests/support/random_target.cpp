#include "support/random_target.h"

#include <vector>

#include "rewrite/rewrite.h"
#include "support/dice.h"

namespace meshwork::testing {
namespace {

void draw(Target& target, Dice& dice) {
  using Bytes = std::vector<std::int64_t>;
  target.cache = dice.one_of(Bytes{0, 1000, target.cache});
  target.longest_fusion = dice.between(1, 12) * dice.between(1, 4);
  target.longest_row = dice.one_of(Bytes{0, 32, target.longest_row});
  target.column_sums = dice.one_of(Bytes{0, 2, 8});
  target.launch_bytes = dice.one_of(Bytes{0, 300, 1 << 20});
  target.small_copy = dice.one_of(Bytes{0, 100, target.small_copy});
  target.split_work = dice.one_of(Bytes{0, 1, 500, target.split_work});
  target.product_line = dice.one_of(Bytes{0, 8, 16});
  target.padded_work = dice.one_of(Bytes{0, 100, 1 << 20});
  target.memory_line = dice.one_of(Bytes{0, 32});
  target.narrow_speed = dice.between(1, 16);
  target.light_flops = dice.between(0, 20);
  target.flops_per_byte = dice.one_of(std::vector<double>{0.1, 20, 1000});
  target.small_message = dice.one_of(Bytes{0, 100, target.small_message});
  target.bucket = dice.one_of(Bytes{0, 100, 1000, target.bucket});
  target.prefetch = dice.one_of(Bytes{0, 100, 2000, 1 << 20});
  for (const RewriteDef* rewrite : rewrites()) target.fusions.emplace(rewrite->name);
  target.fusions.insert({"horizontal", "stacks"});
  std::erase_if(target.fusions, [&](const std::string&) { return dice.chance(15); });
  if (dice.chance(50)) target.stacked.insert({"einsum", "einsum_bias"});
}

}  // namespace

std::function<void(Target&)> random_target(std::uint64_t seed) {
  return [seed](Target& target) {
    Dice dice(seed + 2'000'000);
    draw(target, dice);
  };
}

}  // namespace meshwork::testing
