// format: text
#include <doctest/doctest.h>

#include <array>

#include "data/files.h"
#include "data/loader.h"

using namespace meshwork;
using namespace meshwork::test;

namespace {

using Ints = std::vector<std::int32_t>;

std::string text(const std::string& keys) { return "{format: text, " + keys + "}"; }

std::string failure(const TempDir& dir, const std::string& keys, ExitCode code = ExitCode::kFile) {
  return error_of([&] { dataset(dir, text(keys)).describe(); }, code);
}

const std::vector<std::string>& characters(const data::Split& split) {
  return split.find("x")->source->info().vocabulary->texts;
}

}  // namespace

TEST_CASE("windows of characters, and the same one later") {
  const TempDir dir;
  dir.write("t.txt", "abcabdé\n");  // 8 characters: \n a b c d é are 0..5
  const data::Dataset opened = dataset(dir, text("context: 3, splits: {train: t.txt}"));
  CHECK(opened.describe() ==
        "train: 2 windows of 3 characters, 6 different, x int32 [3], y int32 [3]\n");
  const data::Split& train = opened.split("train");
  CHECK(ints(train, "x") == Ints{1, 2, 3, 1, 2, 4});
  CHECK(ints(train, "y") == Ints{2, 3, 1, 2, 4, 5});
  CHECK(characters(train) == std::vector<std::string>{"\n", "a", "b", "c", "d", "é"});
  CHECK(train.find("x")->source->info().dtype == DType::kUInt8);
}

TEST_CASE("windows begin every stride; what fills none is left out") {
  const TempDir dir;
  dir.write("t.txt", "abcdefgh");
  const auto x = [&](const std::string& keys) {
    return ints(dataset(dir, text("splits: {train: t.txt}, " + keys)).split("train"), "x");
  };
  CHECK(x("context: 3, stride: 1") == Ints{0, 1, 2, 1, 2, 3, 2, 3, 4, 3, 4, 5, 4, 5, 6});
  CHECK(x("context: 3, stride: 4") == Ints{0, 1, 2, 4, 5, 6});
  CHECK(x("context: 3, stride: 5") == Ints{0, 1, 2});
  CHECK(x("context: 1, stride: 6") == Ints{0, 6});  // 7 has no next one
  CHECK(x("context: 3, stride: {train: 4}") == Ints{0, 1, 2, 4, 5, 6});
  CHECK(x("context: 7") == Ints{0, 1, 2, 3, 4, 5, 6});
}

TEST_CASE("fractions of files, as nanoGPT cuts them, with one vocabulary") {
  const TempDir dir;
  dir.write("a.txt", "abcdefg");
  dir.write("b.txt.gz", gzip("hzy"));
  const data::Dataset opened =
      dataset(dir, text("context: 1, files: [a.txt, b.txt], splits: {train: 0.75, test: 0.25}"));
  CHECK(ints(opened.split("train"), "x") == Ints{0, 1, 2, 3, 4, 5});  // 7 characters
  CHECK(ints(opened.split("train"), "y") == Ints{1, 2, 3, 4, 5, 6});
  CHECK(ints(opened.split("test"), "x") == Ints{7, 9});
  CHECK(ints(opened.split("test"), "y") == Ints{9, 8});
  const data::Source& train = opened.split("train").find("x")->source->holder();
  CHECK(&train == &opened.split("train").find("y")->source->holder());
  CHECK(&train == &opened.split("test").find("x")->source->holder());
}

TEST_CASE("the vocabulary is of all splits, whichever is asked for") {
  const TempDir dir;
  dir.write("train.txt", "bbcb");
  dir.write("test.txt", "abz");
  const std::string description = text("context: 2, splits: {train: train.txt, test: test.txt}");
  const data::Dataset opened = dataset(dir, description);
  CHECK(ints(opened.split("train"), "x") == Ints{1, 1});
  CHECK(ints(opened.split("test"), "x") == Ints{0, 1});
  CHECK(ints(opened.split("test"), "y") == Ints{1, 3});
}

TEST_CASE("bytes are their own numbers") {
  const TempDir dir;
  dir.write("t.bin", std::string("\0\xFF\x80z", 4));
  for (const bool packed : {false, true}) {
    if (packed) dir.write("t.bin", gzip(read_file(dir.file("t.bin"))));
    const data::Dataset opened =
        dataset(dir, text("context: 3, unit: byte, splits: {train: t.bin}"));
    CHECK(opened.describe() == "train: 1 windows of 3 bytes, x int32 [3], y int32 [3]\n");
    CHECK(ints(opened.split("train"), "x") == Ints{0, 255, 128});
    CHECK(ints(opened.split("train"), "y") == Ints{255, 128, 122});
  }
}

TEST_CASE("many different characters need wider numbers") {
  const TempDir dir;
  std::string all;
  for (int i = 0; i < 300; ++i) {
    const int c = 0x4E00 + 7 * i % 300;
    all += {static_cast<char>(0xE0 | c >> 12), static_cast<char>(0x80 | (c >> 6 & 0x3F)),
            static_cast<char>(0x80 | (c & 0x3F))};
  }
  dir.write("t.txt", all);
  const data::Dataset opened = dataset(dir, text("context: 299, splits: {train: t.txt}"));
  const data::Split& train = opened.split("train");
  CHECK(train.find("x")->source->info().dtype == DType::kUInt16);
  const Ints x = ints(train, "x");
  for (int i = 0; i < 299; ++i) CHECK(x[static_cast<std::size_t>(i)] == 7 * i % 300);
}

TEST_CASE("a vocabulary that is given keeps its numbers") {
  const TempDir dir;
  dir.write("t.txt", "caab");
  const data::Vocabulary given{"character", {"é", "c", "b", "a"}};
  dir.write("v.json", data::to_json(given));
  const std::string keys = "context: 3, splits: {train: t.txt}, vocabulary: v.json";
  const data::Dataset opened = dataset(dir, text(keys));
  CHECK(ints(opened.split("train"), "x") == Ints{1, 3, 3});
  CHECK(*opened.split("train").find("x")->source->info().vocabulary == given);
  dir.write("t.txt", "éaxa");
  CHECK(contains(failure(dir, keys),
                 "t.txt: byte 3: the character U+0078 is not in the `vocabulary`"));
  dir.write("v.json", "{\"unit\": \"byte\", \"tokens\": []}");
  CHECK(contains(failure(dir, keys), "v.json: its unit is 'byte'"));
  dir.write("v.json", "{\"unit\": \"character\", \"tokens\": [\"ab\"]}");
  CHECK(contains(failure(dir, keys), "not each of its tokens is one character"));
  dir.write("v.json", "[1]");
  CHECK(contains(failure(dir, keys), "v.json: not the vocabulary of a run: "));
}

TEST_CASE("a vocabulary is read as it was written") {
  const TempDir dir;
  const data::Vocabulary all{"character", {"\n", "\"", "a", "é", "\xF0\x9F\x98\x80"}};
  dir.write("all.json", data::to_json(all));
  CHECK(data::read_vocabulary(dir.file("all.json")) == all);
}

TEST_CASE("what is wrong with a text") {
  const TempDir dir;
  const std::string path = dir.write("t.txt", "abc");
  const std::string place = dir.file("d.yaml") + ":1:";
  CHECK(contains(failure(dir, "context: 3, splits: {train: t.txt}", ExitCode::kConfiguration),
                 "context: 3 characters and the next one are a sample, but split 'train' has 3 in "
                 "all (" +
                     path + "); lower context"));
  dir.write("t.txt", "");
  CHECK(contains(failure(dir, "context: 1, splits: {train: t.txt}", ExitCode::kConfiguration),
                 "has 0 in all"));
  for (const char* bad :
       {"ab\xE9z", "ab\xC0\x80", "ab\xED\xA0\x80", "ab\xF4\x90\x80\x80", "ab\xC3"}) {
    dir.write("t.txt", bad);
    const std::string message = failure(dir, "context: 1, splits: {train: t.txt}");
    CHECK(contains(message, path + ": byte 2 (0x"));
    CHECK(contains(message,
                   "is no UTF-8; convert the file (iconv -f latin1 -t utf8), or read "
                   "bytes with 'unit: byte'"));
    CHECK(failure(dir, "context: 1, unit: byte, splits: {train: t.txt}").empty());
  }
  CHECK(contains(failure(dir, "context: 1, splits: {train: no.txt}"), "found neither 'no.txt'"));
}

TEST_CASE("what is wrong with a description of text") {
  const TempDir dir;
  dir.write("t.txt", "abcdefgh");
  const auto wrong = [&](const std::string& keys) {
    return failure(dir, keys, ExitCode::kConfiguration);
  };
  CHECK(contains(wrong("splits: {train: t.txt}"), "context"));
  CHECK(contains(wrong("context: 0, splits: {train: t.txt}"), "context is 0"));
  CHECK(contains(wrong("context: 2, stride: 0, splits: {train: t.txt}"), "stride is 0"));
  CHECK(contains(wrong("context: 2, stride: {train: 0}, splits: {train: t.txt}"), "train is 0"));
  CHECK(contains(wrong("context: 2, stride: {test: 1}, splits: {train: t.txt}"), "test"));
  CHECK(contains(wrong("context: 2, unit: word, splits: {train: t.txt}"), "'word'"));
  CHECK(contains(wrong("context: 2, unit: byte, vocabulary: v, splits: {train: t.txt}"),
                 "bytes are their own numbers"));
  CHECK(contains(wrong("context: 2, splits: {train: {x: t.txt, y: t.txt}}"),
                 "splits.train must name a file, or a list of these, not a map"));
  CHECK(contains(wrong("context: 2, files: t.txt, splits: {train: t.txt}"),
                 "splits.train must be a fraction of the `files`, such as 0.9, not 't.txt'"));
  CHECK(contains(wrong("context: 2, files: t.txt, splits: {train: 0.9, test: 0.2}"),
                 "splits.test is 0.2 of the `files`"));
  CHECK(contains(wrong("context: 2, files: t.txt, splits: {train: 0}"), "splits.train is 0 of"));
  CHECK(contains(wrong("context: 2, dtype: uint16, splits: {train: t.txt}"), "dtype"));
  CHECK(
      contains(wrong("context: 1, files: t.txt, splits: {train: 0.7, validation: 0.2, test: 0.1}"),
               "split 'test' has 1 in all"));
}

TEST_CASE("devices read their parts of windows, which belong together") {
  const TempDir dir;
  dir.write("t.txt", "the quick brown fox jumps over the lazy dog");
  const data::Dataset opened = dataset(dir, text("context: 6, stride: 1, splits: {train: t.txt}"));
  const data::Split& train = opened.split("train");
  const auto part = [&](std::int64_t from, std::int64_t count) -> data::PartOf {
    return [whole = whole_parts(train), from, count](std::size_t field, std::int64_t batch) {
      data::LocalPart local = whole(field, batch);
      local.region.offset[1] = from;
      local.shape[1] = count;
      return local;
    };
  };
  const data::LoaderOptions options{
      .batch_size = 5, .shuffle = true, .seed = 3, .steps_per_epoch = {}};
  data::Loader all(train, options, whole_parts(train));
  data::Loader left(train, options, part(0, 4));
  data::Loader right(train, options, part(4, 2));
  for (int step = 0; step < 20; ++step) {
    const std::array<const data::Batch*, 3> batches{&all.next(), &left.next(), &right.next()};
    const auto at = [&](std::size_t device, std::size_t field, std::int64_t i) {
      return static_cast<int>(batches[device]->fields[field].as<std::uint8_t>()[i]);
    };
    for (std::int64_t row = 0; row < batches[0]->size; ++row) {
      for (std::int64_t t = 0; t < 6; ++t) {
        if (t > 0) CHECK(at(0, 0, 6 * row + t) == at(0, 1, 6 * row + t - 1));  // y is x later
        for (std::size_t field = 0; field < 2; ++field) {
          const int part = t < 4 ? at(1, field, 4 * row + t) : at(2, field, 2 * row + t - 4);
          CHECK(at(0, field, 6 * row + t) == part);
        }
      }
    }
  }
}
