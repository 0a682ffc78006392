#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/file.h"
#include "data/files.h"
#include "data/tokenizer/tokenizer.h"

using namespace meshwork;
using namespace meshwork::test;

namespace {

std::string json_of(const std::string& tokenizer) {
  return read_text_file("tests/fixtures/tokenizers/" + tokenizer + ".json");
}

/// A table of reviews, tokenized by `tokenizer` with these further keys.
std::string reviews(const std::string& tokenizer, const std::string& keys) {
  return fmt::format(
      "{{format: csv, splits: {{train: reviews.csv}}, x: {{columns: review, tokenizer: "
      "{}.json{}}}, "
      "y: {{columns: stars}}}}",
      tokenizer, keys);
}

std::string failure(const TempDir& dir, const std::string& description,
                    ExitCode code = ExitCode::kFile) {
  return error_of(
      [&] {
        const data::Dataset opened = dataset(dir, description);
        ints(opened.split("train"), "x");
      },
      code);
}

}  // namespace

TEST_CASE("a column of texts is read as tokens, cut and filled up to one length") {
  const TempDir dir;
  for (const std::string name : {"bert", "gpt2"}) dir.write(name + ".json", json_of(name));
  const std::string brief = "Fine, \"really\" fine.", none;
  const std::string long_one = "It was so long that nobody in the whole room was awake at the end";
  dir.write("reviews.csv",
            "stars,review\n5,\"Fine, \"\"really\"\" fine.\"\n1," + long_one + "\n3,\n");
  const data::Tokenizer tokenizer(json_of("bert"), "bert.json");
  const data::Dataset opened = dataset(dir, reviews("bert", ", length: 12"));
  CHECK(opened.describe() == "train: 3 samples, x int32 [12], y float32 []\n");
  const std::vector<std::int32_t> x = ints(opened.split("train"), "x");
  const std::int32_t end = tokenizer.surroundings().behind.at(0);
  const std::int32_t pad = tokenizer.find("[PAD]");
  REQUIRE(pad >= 0);
  std::vector<std::int32_t> expected;
  for (const std::string& text : {brief, long_one, none}) {
    std::vector<std::int32_t> tokens = tokenizer.encode(text);
    if (tokens.size() > 12) {
      tokens.resize(11);
      tokens.push_back(end);
    }
    tokens.resize(12, pad);
    expected.insert(expected.end(), tokens.begin(), tokens.end());
  }
  CHECK(tokenizer.encode(long_one).size() > 12);
  CHECK(x == expected);
  CHECK(opened.split("train").fields.front().source->info().vocabulary->unit == "token");

  // A tokenizer without a token for it.
  const data::Dataset filled = dataset(dir, reviews("gpt2", ", length: 40, pad: 7"));
  const std::vector<std::int32_t> sevens = ints(filled.split("train"), "x");
  CHECK(std::count(sevens.end() - 40, sevens.end(), 7) == 40);
}

TEST_CASE("columns of texts that cannot be read so") {
  const TempDir dir;
  for (const std::string name : {"bert", "gpt2"}) dir.write(name + ".json", json_of(name));
  dir.write("reviews.csv", "stars,review\n5,fine\n");
  const ExitCode config = ExitCode::kConfiguration;
  CHECK(contains(failure(dir, reviews("bert", ""), config), "length"));
  CHECK(contains(failure(dir, reviews("bert", ", length: 2"), config),
                 "the tokenizer puts 2 tokens around a text, which leaves none of a length of 2"));
  CHECK(contains(failure(dir, reviews("bert", ", length: 9, pad: 1000000"), config),
                 "pad is 1000000, but the tokenizer has "));
  CHECK(contains(failure(dir, reviews("gpt2", ", length: 9"), config),
                 "the tokenizer has neither [PAD] nor <pad>"));
  CHECK(contains(failure(dir, reviews("bert", ", length: 9, classes: [a]"), config),
                 "a column of texts has a tokenizer; leave `classes` out"));
  CHECK(contains(failure(dir,
                         "{format: csv, splits: {train: reviews.csv}, x: {columns: [review], "
                         "tokenizer: a.json, length: 4}, y: {columns: stars}}",
                         config),
                 "name it: columns: review"));
  dir.write("reviews.csv", "stars,review\n5,fine\n4,\"caf\xE9\"\n");
  CHECK(contains(failure(dir, reviews("bert", ", length: 9")),
                 "reviews.csv:3: column 'review': byte 3 (0xe9) is no UTF-8"));
}
