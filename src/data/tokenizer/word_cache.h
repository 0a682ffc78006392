#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "data/tokenizer/model.h"

namespace meshwork::data {

/// The tokens of words that were met before. Words come again: a text has far fewer different ones
/// than it has words.
class WordCache {
 public:
  static constexpr std::size_t kLongest = 64;  ///< bytes of a word that is kept

  /// As they are until the next call.
  std::span<const std::int32_t> encode(const WordModel& model, std::string_view word) {
    const auto found = places_.find(word);
    if (found != places_.end()) return tokens_of(found->second);
    if (word.size() > kLongest) {
      once_.clear();
      model(word, once_);
      return once_;
    }
    if (places_.size() == kMostWords) {
      places_.clear();
      tokens_.clear();
    }
    const std::size_t begin = tokens_.size();
    model(word, tokens_);
    const Place place{begin, tokens_.size() - begin};
    places_.emplace(word, place);
    return tokens_of(place);
  }

 private:
  static constexpr std::size_t kMostWords = std::size_t{1} << 18U;
  struct Place {
    std::size_t begin, count;
  };
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>{}(text);
    }
  };

  std::span<const std::int32_t> tokens_of(const Place& place) const {
    return std::span(tokens_).subspan(place.begin, place.count);
  }

  std::unordered_map<std::string, Place, Hash, std::equal_to<>> places_;
  std::vector<std::int32_t> tokens_;  ///< of words that are kept
  std::vector<std::int32_t> once_;    ///< of another one
};

}  // namespace meshwork::data
