// Every target reads its corpus, as it is and with slips, within a few seconds: what libFuzzer has
// found once stays found without it.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "fuzz/targets.h"

using namespace meshwork;

namespace {

std::vector<std::string> corpus_of(std::string_view target) {
  std::vector<std::filesystem::path> files;
  const auto folder = std::filesystem::path("tests/fuzz/corpus") / target;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<std::string> corpus;
  for (const auto& path : files) {
    std::ifstream stream(path, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
  }
  return corpus;
}

class Dice {
 public:
  std::size_t below(std::size_t bound) {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return bound == 0 ? 0 : static_cast<std::size_t>(state_ >> 33U) % bound;
  }

 private:
  std::uint64_t state_ = 7;
};

/// A byte changed, put in or lost, the end lost, or a stretch doubled.
std::string slipped(std::string text, Dice& dice) {
  const std::size_t at = dice.below(text.size() + 1);
  const char byte = static_cast<char>(dice.below(256));
  const std::size_t length = dice.below(16);
  switch (dice.below(6)) {
    case 0:
      return text.substr(0, at);
    case 1:
      return text.insert(at, 1, byte);
    case 2:
      return text.erase(at, length);
    case 3:
      return text.insert(at, text.substr(at, length));
    default:
      if (at < text.size()) text[at] = dice.below(2) == 0 ? byte : static_cast<char>(text[at] ^ 1);
      return text;
  }
}

}  // namespace

TEST_CASE("whatever a parser reads, it gives a value or an Error") {
  constexpr int kSlips = 300;
  for (const fuzz::NamedTarget& target : fuzz::targets()) {
    CAPTURE(target.name);
    const std::vector<std::string> corpus = corpus_of(target.name);
    REQUIRE(!corpus.empty());
    Dice dice;
    for (const std::string& whole : corpus) {
      CHECK_NOTHROW(target.run(whole));
      for (int round = 0; round < kSlips; ++round) {
        std::string text = slipped(whole, dice);
        while (dice.below(3) == 0) text = slipped(text, dice);
        CAPTURE(text);
        CHECK_NOTHROW(target.run(text));
      }
    }
    CHECK_NOTHROW(target.run(""));
  }
}
