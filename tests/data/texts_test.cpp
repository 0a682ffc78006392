// Folders of texts, a subfolder for each class. What tokens become of a text: csv_text_test.cpp
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "base/file.h"
#include "data/files.h"
#include "data/taken_classes.h"
#include "data/tokenizer/tokenizer.h"

using namespace meshwork;
using namespace meshwork::test;

namespace fs = std::filesystem;

namespace {

const std::string kKeys = "x: {tokenizer: bert.json, length: 5}";
const std::string kTexts = "{format: texts, splits: {train: train}, " + kKeys + "}";

std::string json() { return read_text_file("tests/fixtures/tokenizers/bert.json"); }

/// Classes neg and pos of 2 and 3 texts, and a class of none.
void write_reviews(const TempDir& dir) {
  dir.write("bert.json", json());
  dir.write("train/pos/b.txt", "good");
  dir.write("train/pos/c/a.TXT", "fine");
  dir.write("train/pos/a.txt", "so good and so long that it is cut");
  dir.write("train/neg/10.txt", "");
  dir.write("train/neg/2.txt", "bad");
  dir.write("train/neg/notes.md", "no text");
  dir.write("train/readme.txt", "none either");
  dir.write("train/.git/x.txt", "nor this");
  fs::create_directories(dir.file("train/none"));
}

/// Tokens of texts, of which BERT's begin and end each.
std::vector<std::int32_t> tokens_of(const std::vector<std::string>& texts, std::size_t length) {
  const data::Tokenizer tokenizer(json(), "bert.json");
  std::vector<std::int32_t> all;
  for (const std::string& text : texts) {
    std::vector<std::int32_t> tokens = tokenizer.encode(text);
    const std::int32_t end = tokens.back();
    if (tokens.size() > length) tokens[length - 1] = end;
    tokens.resize(length, tokenizer.find("[PAD]"));
    all.insert(all.end(), tokens.begin(), tokens.end());
  }
  return all;
}

const std::vector<std::string> kInOrder{"", "bad", "so good and so long that it is cut", "good",
                                        "fine"};

std::string failure(const TempDir& dir, const std::string& description,
                    ExitCode code = ExitCode::kFile) {
  const auto read = [](const data::Split& split) { ints(split, "x"); };
  return reading_error(dir, description, read, code);
}

}  // namespace

TEST_CASE("classes are the sorted subfolders, texts come in the order of their paths") {
  const TempDir dir;
  write_reviews(dir);
  const data::Dataset opened = dataset(dir, kTexts);
  CHECK(opened.describe() == "train: 5 samples, x int32 [5], y int32 []\n");
  const data::Split& train = opened.split("train");
  CHECK(ints(train, "y") == std::vector<std::int32_t>{0, 0, 2, 2, 2});
  CHECK(ints(train, "x") == tokens_of(kInOrder, 5));
  CHECK(train.find("x")->source->info().vocabulary->unit == "token");
  CHECK(train.find("x")->source->place_of(3).name == dir.file("train/pos/b.txt"));

  const data::Dataset chosen =
      dataset(dir,
              "{format: texts, class_names: [pos, neg], splits: {train: train}, y: {one_hot: "
              "2}, " +
                  kKeys + "}");
  CHECK(floats(chosen.split("train"), "y") == std::vector<float>{1, 0, 1, 0, 1, 0, 0, 1, 0, 1});
}

TEST_CASE("a part of every row of texts is what stands there of the whole") {
  const TempDir dir;
  write_reviews(dir);
  const data::Dataset opened = dataset(dir, kTexts);
  const data::Source& source = *opened.split("train").find("x")->source;
  std::vector<std::int32_t> some(7);
  source.read(9, 7, reinterpret_cast<std::byte*>(some.data()));
  const std::vector<std::int32_t> all = tokens_of(kInOrder, 5);
  CHECK(some == std::vector(all.begin() + 9, all.begin() + 16));
}

TEST_CASE("without labels every text below the folder is read") {
  const TempDir dir;
  write_reviews(dir);
  fs::remove_all(dir.file("train/.git"));
  const data::Dataset opened =
      dataset(dir, "{format: texts, splits: {train: {x: train}}, " + kKeys + "}");
  CHECK(opened.split("train").samples == 6);
  std::vector<std::string> texts{"none either"};
  texts.insert(texts.end(), kInOrder.begin(), kInOrder.end());
  CHECK(ints(opened.split("train"), "x") == tokens_of(texts, 5));
  const std::size_t different = data::Tokenizer(json(), "bert.json").texts().size();
  CHECK(opened.describe() ==
        fmt::format("train: 6 texts of 5 tokens, {} different, x int32 [5]\n", different));
}

TEST_CASE("splits may be parts of one folder, whose texts are shuffled with their classes") {
  const TempDir dir;
  dir.write("bert.json", json());
  for (int i = 0; i < 20; ++i) {
    const std::string name = fmt::format("all/{}/{}.txt", i < 10 ? "neg" : "pos", 100 + i);
    dir.write(name, i < 10 ? "bad" : "good");
  }
  const data::Dataset opened =
      dataset(dir, "{format: texts, files: all, splits: {train: 0.75, test: 0.25}, " + kKeys + "}");
  const std::vector<std::int32_t> good = tokens_of({"good"}, 5);
  for (const char* split : {"train", "test"}) {
    const data::Split& part = opened.split(split);
    const std::vector<std::int32_t> x = ints(part, "x"), y = ints(part, "y");
    CHECK((std::ranges::count(y, 0) > 0 && std::ranges::count(y, 1) > 0));
    for (std::size_t i = 0; i < y.size(); ++i) {
      const bool is_good = std::equal(good.begin(), good.end(), x.begin() + 5 * std::ptrdiff_t(i));
      CHECK(is_good == (y[i] == 1));
    }
  }
}

TEST_CASE("the first texts of a folder may lack whole classes, which is told of") {
  const TempDir dir;
  write_reviews(dir);
  const data::Dataset opened =
      dataset(dir, "{format: texts, take: 2, splits: {train: train}, " + kKeys + "}");
  CHECK(contains(data::taken_classes(opened.split("train")).value_or(""),
                 "take: the first 2 of 5 samples are of 1 of the 2 classes"));
}

TEST_CASE("what is wrong with a folder of texts is told with its path") {
  const TempDir dir;
  dir.write("bert.json", json());
  CHECK(contains(failure(dir, kTexts), "found no folder 'train' in " + dir.path()));
  fs::create_directories(dir.file("train"));
  CHECK(contains(failure(dir, kTexts),
                 dir.file("train") + ": no subfolders, of which there must be one for each class; "
                                     "for texts without labels leave the field y out"));
  fs::create_directories(dir.file("train/neg"));
  CHECK(failure(dir, kTexts) == dir.file("train") + ": no texts (.txt) in this folder");
  dir.write("train/neg/1.txt", "fine");
  dir.write("train/neg/2.txt", "caf\xE9");
  CHECK(failure(dir, kTexts) ==
        dir.file("train/neg/2.txt") +
            ": byte 3 (0xe9) is no UTF-8; convert the file (iconv -f latin1 -t utf8)");
  const data::Dataset opened = dataset(dir, kTexts);
  const data::Split& train = opened.split("train");
  fs::remove(dir.file("train/neg/2.txt"));
  CHECK(contains(error_of([&] { ints(train, "x"); }), dir.file("train/neg/2.txt") + ": "));
  dir.write("test/pos/1.txt", "good");
  CHECK(contains(failure(dir, "{format: texts, splits: {train: train, test: test}, " + kKeys + "}"),
                 "so that classes would get different numbers; give class_names"));
}

TEST_CASE("mistakes in the description of texts are found without files") {
  const TempDir dir;
  const auto bad = [&](const std::string& keys) {
    return failure(dir, "{format: texts, splits: {train: train}" + keys + "}",
                   ExitCode::kConfiguration);
  };
  CHECK(contains(
      bad(""), "the texts of 'x' need a tokenizer; write x: {tokenizer: tokenizer.json, length: "));
  CHECK(contains(bad(", x: {tokenizer: bert.json}"), "length"));
  CHECK(contains(bad(", x: {tokenizer: bert.json, length: 0}"), "length is 0; give 1 or more"));
  CHECK(contains(bad(", image_size: 2, " + kKeys), "no key 'image_size'"));
  CHECK(contains(bad(", y: {part: image}, " + kKeys),
                 "part 'image' is unknown; known: 'text', 'label'"));
  CHECK(contains(bad(", y: {tokenizer: bert.json}, " + kKeys), "no key 'tokenizer'"));
}
