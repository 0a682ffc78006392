// Documents in rows of tokens, and texts that a tokenizer cuts into tokens.
#include <doctest/doctest.h>

#include <algorithm>

#include "base/file.h"
#include "data/files.h"
#include "data/tokenizer/tokenizer.h"

using namespace meshwork;
using namespace meshwork::test;

namespace {

using Ints = std::vector<std::int32_t>;

struct Fields {
  Ints x, y, segments, positions;

  bool operator==(const Fields&) const = default;
};

Fields fields(const TempDir& dir, const std::string& description) {
  const data::Dataset opened = dataset(dir, "{" + description + "}");
  const data::Split& train = opened.split("train");
  return {ints(train, "x"), ints(train, "y"), ints(train, "segments"), ints(train, "positions")};
}

std::string failure(const TempDir& dir, const std::string& description,
                    ExitCode code = ExitCode::kConfiguration) {
  return error_of([&] { dataset(dir, "{" + description + "}").describe(); }, code);
}

void write_tokenizer(const TempDir& dir, const std::string& name) {
  dir.write("tokenizer.json", read_text_file("tests/fixtures/tokenizers/" + name + ".json"));
}

}  // namespace

TEST_CASE("documents end behind a separator, and windows begin anywhere in them") {
  const TempDir dir;
  dir.write("t.txt", "ab|cde|f|gh");  // | a b c .. h are 8, or of characters in order: a=0 .. |=8
  const std::string text = "format: text, splits: {train: t.txt}, documents: {separator: '|'}, ";
  const Fields whole = fields(dir, text + "context: 10");
  CHECK(whole == Fields{{0, 1, 8, 2, 3, 4, 8, 5, 8, 6},
                        {1, 8, -1, 3, 4, 8, -1, 8, -1, 7},
                        {0, 0, 0, 1, 1, 1, 1, 2, 2, 3},
                        {0, 1, 2, 0, 1, 2, 3, 0, 1, 0}});
  CHECK(fields(dir, text + "context: 4, stride: 5") == Fields{{0, 1, 8, 2, 4, 8, 5, 8},
                                                              {1, 8, -1, 3, 8, -1, 8, -1},
                                                              {0, 0, 0, 1, 0, 0, 1, 1},
                                                              {0, 1, 2, 0, 0, 1, 0, 1}});
  CHECK(dataset(dir, "{" + text + "context: 4, stride: 5}").describe() ==
        "train: 2 windows of 4 characters, 9 different, x int32 [4], y int32 [4], segments int32 "
        "[4], positions int32 [4]\n");
}

TEST_CASE("a part of a window is read as of the whole") {
  const TempDir dir;
  dir.write("t.txt", "ab|cde|f|gh");
  const data::Dataset opened = dataset(
      dir, "{format: text, splits: {train: t.txt}, documents: {separator: '|'}, context: 10}");
  for (const data::Field& field : opened.split("train").fields) {
    CAPTURE(field.name);
    const Ints whole = ints(opened.split("train"), field.name);
    if (field.source->info().dtype != DType::kInt32) continue;
    for (std::int64_t begin = 0; begin < 10; ++begin) {
      for (std::int64_t count = 0; begin + count <= 10; ++count) {
        Ints part(static_cast<std::size_t>(count));
        field.source->read(begin, count, reinterpret_cast<std::byte*>(part.data()));
        CHECK(part == Ints(whole.begin() + begin, whole.begin() + begin + count));
      }
    }
  }
}

TEST_CASE("the same documents as bytes, as lines of JSON and as tokens") {
  const TempDir dir;
  dir.write("t.txt", "ab|cde|f|gh");
  dir.write("t.jsonl",
            "{\"n\": 1, \"t\": \"ab\"}\n\n{\"t\": \"cde\"}\r\n{\"t\": \"f\"}\n{\"t\": \"gh\"}");
  const Fields texts =
      fields(dir, "format: text, splits: {train: t.txt}, documents: {separator: '|'}, context: 10");
  CHECK(fields(dir,
               "format: text, splits: {train: t.jsonl}, documents: {key: t, end: '|'}, "
               "context: 10") == texts);
  Fields bytes = fields(dir,
                        "format: text, unit: byte, splits: {train: t.txt}, documents: {separator: "
                        "'|'}, context: 10");
  CHECK(bytes.x == Ints{'a', 'b', '|', 'c', 'd', 'e', '|', 'f', '|', 'g'});
  CHECK(bytes.y == Ints{'b', '|', -1, 'd', 'e', '|', -1, '|', -1, 'h'});
  CHECK(bytes.segments == texts.segments);
  CHECK(bytes.positions == texts.positions);
  dir.write("t.bin", bytes_of(std::vector<std::uint16_t>{0, 1, 8, 2, 3, 4, 8, 5, 8, 6, 7}));
  const std::string tokens = "format: tokens, splits: {train: t.bin}, context: 10, documents: ";
  CHECK(fields(dir, tokens + "{end_token: 8}") == texts);
  dir.write("t.bin", bytes_of(std::vector<std::uint16_t>{8, 0, 1, 8, 2, 3, 8, 8, 4, 5, 6}));
  CHECK(fields(dir, tokens + "{begin_token: 8}") == Fields{{8, 0, 1, 8, 2, 3, 8, 8, 4, 5},
                                                           {0, 1, -1, 2, 3, -1, -1, 4, 5, 6},
                                                           {0, 0, 0, 1, 1, 1, 2, 3, 3, 3},
                                                           {0, 1, 2, 0, 1, 2, 0, 0, 1, 2}});
  CHECK(fields(dir,
               "format: tokens, splits: {train: t.bin}, context: 3, stride: 2, documents: "
               "{end_token: 8}")
            .segments == Ints{0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 1, 2});
}

TEST_CASE("files are documents of their own") {
  const TempDir dir;
  dir.write("a.txt", "ab|c");
  dir.write("b.txt", "de|f");
  const Fields both = fields(dir,
                             "format: text, splits: {train: [a.txt, b.txt]}, documents: "
                             "{separator: '|'}, context: 7");
  CHECK(both.segments == Ints{0, 0, 0, 1, 2, 2, 2});
  CHECK(both.y == Ints{1, 6, -1, -1, 4, 6, -1});
}

TEST_CASE("masked tokens are labels of their own, and documents stay") {
  const TempDir dir;
  dir.write("t.txt", "ab|cd|e");
  const Fields masked = fields(dir,
                               "format: text, splits: {train: t.txt}, documents: {separator: '|'}, "
                               "context: 6, mask_tokens: {vocabulary_size: 6, mask_token_id: 6}");
  const Ints tokens{0, 1, 5, 2, 3, 5};
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    CHECK((masked.y[i] == -1 || masked.y[i] == tokens[i]));
    if (masked.y[i] == -1) CHECK(masked.x[i] == tokens[i]);
  }
  CHECK(masked.segments == Ints{0, 0, 0, 1, 1, 1});
}

TEST_CASE("a tokenizer makes the tokens of a text, with those around each document") {
  const TempDir dir;
  write_tokenizer(dir, "llama3");
  const data::Tokenizer tokenizer(read_text_file(dir.file("tokenizer.json")), "t");
  dir.write("t.txt", "The mesh has a name.<|end_of_text|>We'll see");
  dir.write("u.txt", "Over a layout.");
  Ints expected = tokenizer.encode("The mesh has a name.<|end_of_text|>");
  const auto first = static_cast<std::int32_t>(expected.size());
  for (const char* text : {"We'll see", "Over a layout."}) {
    const Ints more = tokenizer.encode(text);
    expected.insert(expected.end(), more.begin(), more.end());
  }
  const std::string text =
      "format: text, splits: {train: [t.txt, u.txt]}, tokenizer: tokenizer.json, context: ";
  const Fields packed = fields(dir, text + std::to_string(expected.size() - 1) +
                                        ", documents: {separator: '<|end_of_text|>'}");
  CHECK(packed.x == Ints(expected.begin(), expected.end() - 1));
  CHECK(packed.y[static_cast<std::size_t>(first - 1)] == -1);
  CHECK(packed.segments[static_cast<std::size_t>(first)] == 1);
  CHECK(packed.segments.back() == 2);
  const data::Dataset plain = dataset(dir, "{" + text + "5}");
  const data::SourceInfo& info = plain.split("train").find("x")->source->info();
  CHECK(info.dtype == DType::kUInt16);
  CHECK(info.vocabulary->texts == tokenizer.texts());
  CHECK(info.vocabulary->tokenizer == read_text_file(dir.file("tokenizer.json")));
  // One document per file: two tokens that begin one.
  CHECK(std::ranges::count(ints(plain.split("train"), "x"), tokenizer.find("<|begin_of_text|>")) ==
        2);
}

TEST_CASE("numbers that a tokenizer has made keep it") {
  const TempDir dir;
  write_tokenizer(dir, "gpt2");
  dir.write("t.bin", bytes_of(std::vector<std::uint16_t>{5, 6, 7}));
  const data::Dataset opened = dataset(
      dir, "{format: tokens, splits: {train: t.bin}, context: 2, tokenizer: tokenizer.json}");
  CHECK(opened.describe() ==
        "train: 1 windows of 2 tokens, 480 different, x int32 [2], y int32 [2]\n");
}

TEST_CASE("what is wrong with documents and tokenizers") {
  const TempDir dir;
  dir.write("t.txt", "abc");
  dir.write("t.jsonl", "{\"t\": \"ab\"}\n{\"u\": 1}\n");
  dir.write("t.bin", bytes_of(std::vector<std::uint16_t>{5, 6, 7}));
  dir.write("tokenizer.json", "{\"model\": 1}");
  const std::string text = "format: text, context: 2, splits: {train: t.txt}, ";
  for (const char* documents :
       {"{}", "{separator: ''}", "{separator: a, key: t}", "{separator: a, end: b}", "{end: a}"}) {
    CAPTURE(documents);
    CHECK(contains(failure(dir, text + "documents: " + documents), "either a `separator`"));
  }
  CHECK(contains(failure(dir, text + "documents: {seperator: a}"), "nearest: 'separator'"));
  CHECK(contains(
      failure(dir, "format: text, context: 2, splits: {train: t.jsonl}, documents: {key: t}",
              ExitCode::kFile),
      "t.jsonl: line 2: no JSON object with a text 't': "));
  const std::string tokens = "format: tokens, context: 2, splits: {train: t.bin}, documents: ";
  for (const char* documents : {"{}", "{end_token: 1, begin_token: 2}"}) {
    CHECK(contains(failure(dir, tokens + documents), "either an `end_token`"));
  }
  CHECK(
      contains(failure(dir, "format: npy, splits: {train: {x: t.npy}}, documents: {end_token: 1}"),
               "'documents'"));
  CHECK(contains(failure(dir, text + "tokenizer: tokenizer.json, unit: byte"),
                 "the tokenizer says what tokens are; leave `unit` out"));
  CHECK(contains(failure(dir, text + "tokenizer: tokenizer.json", ExitCode::kFile),
                 "tokenizer.json: model: must be an object, not 1"));
  CHECK(contains(failure(dir, text + "tokenizer: nowhere.json", ExitCode::kFile), "nowhere.json"));
}
