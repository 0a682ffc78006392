#pragma once

#include <cstdint>
#include <vector>

namespace meshwork {

/// Masked tokens, as keras-hub's MaskedLMMaskGenerator has them: some tokens of a window are chosen
/// by chance, to be found again. Of these some become the mask token, some others any token.
struct TokenMask {
  static constexpr std::int64_t kNotChosen = -1;  ///< the label where nothing is to be found

  static constexpr std::int64_t kMostTokens = 1 << 24;

  std::int64_t vocabulary_size = 0;  ///< any token is below it
  std::int64_t mask_token_id = 0;
  double mask_selection_rate = 0.15;
  double mask_token_rate = 0.8;  ///< of the chosen
  double random_token_rate = 0.1;
  std::vector<std::int64_t> unselectable_token_ids;  ///< never chosen
  std::uint64_t seed = 0;
  bool is_label = false;  ///< the chosen tokens themselves, kNotChosen elsewhere
};

}  // namespace meshwork
