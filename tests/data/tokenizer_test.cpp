// Tokenizers of tokenizer.json against what the library makes of the same texts, recorded by
// scripts/make_tokenizer_fixtures.py, and what is wrong with such a file.
#include "data/tokenizer/tokenizer.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "data/text_codec.h"
#include "support/errors.h"

using namespace meshwork;
using test::contains;

namespace {

using Json = nlohmann::json;
using Numbers = std::vector<std::int32_t>;

std::string fixture(const std::string& name) {
  return read_text_file("tests/fixtures/tokenizers/" + name + ".json");
}

data::Tokenizer tokenizer(const std::string& name) { return {fixture(name), name}; }

constexpr const char* kNames[] = {"bert",    "cased_bert", "gpt2",    "llama2", "llama3",
                                  "mistral", "o200k",      "roberta", "words",  "word_level"};

/// Of each part of components.json: what `run` makes of each input.
template <class Make>
void check_components(const char* kind, const Make& make) {
  const Json all = Json::parse(fixture("components"));
  REQUIRE(!all.at(kind).empty());
  for (const Json& entry : all.at(kind)) {
    CAPTURE(entry.at("part").dump());
    data::JsonReader reader(entry.at("part"), "part");
    const auto run = make(reader);
    for (const Json& one : entry.at("cases")) {
      CAPTURE(one.at(0).dump());
      CHECK(run(one.at(0)) == one.at(1));
    }
  }
}

/// Changes a tokenizer and gives what is then wrong with it.
std::string failure(const std::string& name, const std::function<void(Json&)>& change) {
  Json json = Json::parse(fixture(name));
  change(json);
  return test::error_of([&] { data::Tokenizer(json.dump(), "t.json"); });
}

}  // namespace

TEST_CASE("tokenizers give the numbers of the library") {
  for (const char* name : kNames) {
    CAPTURE(name);
    const data::Tokenizer t = tokenizer(name);
    const Json recorded = Json::parse(fixture(name + std::string(".texts")));
    CHECK(t.texts().size() == recorded.at("vocabulary"));
    CHECK(recorded.at("texts").size() > 50);
    for (const Json& one : recorded.at("texts")) {
      CAPTURE(one.at("text").dump());
      CHECK(Json(t.encode(one.at("text").get<std::string>())) == one.at("numbers"));
    }
  }
}

TEST_CASE("tokenizers give the texts of the library") {
  for (const char* name : kNames) {
    CAPTURE(name);
    const data::Tokenizer t = tokenizer(name);
    const Json recorded = Json::parse(fixture(name + std::string(".texts")));
    for (const Json& one : recorded.at("decoded")) {
      CAPTURE(one.at("numbers").dump());
      const auto numbers = one.at("numbers").get<Numbers>();
      CHECK(Json(t.decode(numbers, {.skips_special = false})) == one.at("decoded"));
      CHECK(Json(t.decode(numbers, {.skips_special = true})) == one.at("plain"));
    }
  }
}

TEST_CASE("normalizers do what those of the library do") {
  check_components("normalizers", [](data::JsonReader& reader) {
    return [normalize = data::read_normalizer(reader)](const Json& text) {
      return Json(normalize(text.get<std::string>()));
    };
  });
}

TEST_CASE("pre-tokenizers do what those of the library do") {
  check_components("pre_tokenizers", [](data::JsonReader& reader) {
    return [cut = data::read_pre_tokenizer(reader)](const Json& json) {
      const auto text = json.get<std::string>();
      Json pieces = Json::array();
      const auto sink = [&](const data::Piece& piece) {
        pieces.push_back(std::string(piece.text));
      };
      if (!text.empty()) cut({text, true}, sink);
      return pieces;
    };
  });
}

TEST_CASE("decoders do what those of the library do") {
  check_components("decoders", [](data::JsonReader& reader) {
    return [decode = data::read_decoder(reader)](const Json& tokens) {
      std::string text;
      for (const std::string& part : decode(tokens.get<std::vector<std::string>>(), true)) {
        text += part;
      }
      return Json(text);
    };
  });
}

TEST_CASE("a word that is met again has the same tokens, in whatever order words come") {
  const data::Tokenizer t = tokenizer("llama3");
  std::string text;
  for (int i = 0; i < 300'000; ++i) text += " w" + std::to_string(i % 270'000);
  data::WordCache cache;
  Numbers once, again;
  for (Numbers* numbers : {&once, &again}) {
    t.encode(text, cache,
             [&](auto some) { numbers->insert(numbers->end(), some.begin(), some.end()); });
  }
  CHECK(once == again);
  once.insert(once.begin(), t.surroundings().before.begin(), t.surroundings().before.end());
  CHECK(once == t.encode(text));
}

TEST_CASE("bytes of a character that is not whole stay where more may follow") {
  for (const char* name : {"gpt2", "llama2"}) {
    const data::Tokenizer t = tokenizer(name);
    const Numbers numbers = t.encode("a 😀");
    const std::span<const std::int32_t> part(numbers.data(), numbers.size() - 1);
    CHECK(t.decode(numbers, {.whole = false}).ends_with("😀"));
    CHECK(t.decode(part, {.whole = false}).ends_with("\xF0\x9F\x98"));
    CHECK(t.decode(part, {}).ends_with("\uFFFD"));
  }
}

TEST_CASE("what a file has that is not read is an Error with its place") {
  const auto set = [](const char* path, const Json& value) {
    return [=](Json& json) { json[Json::json_pointer(path)] = value; };
  };
  CHECK(failure("bert", [](Json&) {}).empty());
  CHECK(failure("bert", set("/normalizer/type", "Nmt"))
            .starts_with("3: t.json: normalizer.type: 'Nmt' is not read; known: "));
  CHECK(failure("llama2", set("/normalizer/normalizers/1/type", "Precompiled"))
            .starts_with("3: t.json: normalizer.normalizers[1].type: 'Precompiled' is not read"));
  CHECK(failure("bert", set("/pre_tokenizer", {{"type", "UnicodeScripts"}}))
            .starts_with("3: t.json: pre_tokenizer.type: 'UnicodeScripts' is not read"));
  CHECK(failure("bert", set("/model/type", "Unigram"))
            .starts_with("3: t.json: model.type: 'Unigram' is not read"));
  CHECK(failure("bert", set("/decoder/type", "CTC"))
            .starts_with("3: t.json: decoder.type: 'CTC' is not read"));
  CHECK(failure("bert", set("/model/more", 1)) ==
        "3: t.json: model.more: nothing is known of this key");
  CHECK(failure("bert", set("/more", 1)) == "3: t.json: more: nothing is known of this key");
  CHECK(failure("gpt2", set("/model/dropout", 0.1))
            .starts_with("3: t.json: model.dropout: merges are not left out by chance"));
  CHECK(failure("gpt2", set("/model/merges/3", "a b c"))
            .starts_with("3: t.json: model.merges[3]: must be two tokens"));
  CHECK(failure("llama3", set("/model/merges/3", {"a", "nowhere"})) ==
        "3: t.json: model.merges[3]: 'nowhere' is no token");
  CHECK(failure("bert", set("/model/vocab/nowhere", 3)) ==
        "3: t.json: model.vocab: 'nowhere' has number 3, but so has '[SEP]'");
  CHECK(failure("bert", set("/model/vocab/nowhere", 1 << 30))
            .starts_with(
                "3: t.json: model.vocab: number 1073741824 of 'nowhere'; numbers are 0 to "));
  CHECK(failure("bert", set("/added_tokens/2/id", 9))
            .starts_with("3: t.json: added_tokens: '[CLS]' has number 9, but elsewhere 2"));
  CHECK(failure("bert", set("/post_processor/special_tokens/[CLS]/ids", {100'000}))
            .starts_with("3: t.json: post_processor.special_tokens.[CLS].ids: 100000 is the number "
                         "of no token"));
  CHECK(test::error_of([] {
          data::Tokenizer("{", "t.json");
        }).starts_with("3: t.json: not a tokenizer.json: "));
  CHECK(test::error_of([] { data::Tokenizer("[]", "t.json"); }) ==
        "3: t.json: must be an object, not []");
}

TEST_CASE("scripts and words are those of Oniguruma") {
  const auto numbers = [](const std::string& pattern, const std::string& words,
                          const std::string& merges, const std::string& text) {
    const std::string json =
        R"({"added_tokens": [], "normalizer": null, "pre_tokenizer": {"type": "Split", "pattern": )"
        R"({"Regex": ")" +
        pattern +
        R"("}, "behavior": "Isolated", "invert": false}, "model": {"type": "BPE", )"
        R"("unk_token": null, "vocab": )" +
        words + R"(, "merges": )" + merges + "}}";
    return data::Tokenizer(json, "t.json").encode(text);
  };
  // A comma that several scripts have is of none.
  CHECK(numbers("\\\\p{Han}+", R"({"日": 0, "、": 1, "日、": 2})", R"([["日", "、"]])",
                "日、日、") == Numbers{0, 1, 0, 1});
  CHECK(numbers("\\\\w+", R"({"Ⅷ": 0, "x": 1, "xⅧ": 2})", R"([["x", "Ⅷ"]])", "xⅧxⅧ") ==
        Numbers{2, 2});
  CHECK(numbers("\\\\w+", R"({"²": 0, "x": 1, "x²": 2})", R"([["x", "²"]])", "x²") == Numbers{2});
  CHECK(numbers("[\\\\w]+", R"({"²": 0, "x": 1, "x²": 2})", R"([["x", "²"]])", "x²") ==
        Numbers{1, 0});
}

TEST_CASE("characters that are no tokens join those around them in words of any length") {
  const std::string json =
      R"({"added_tokens": [], "normalizer": null, "pre_tokenizer": null, "model": {"type": "BPE", )"
      R"("unk_token": null, "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": [["a", "b"]]}})";
  const data::Tokenizer t(json, "t.json");
  for (const std::size_t count : {21, 22, 1000}) {
    std::string text;
    for (std::size_t i = 0; i < count; ++i) text += "aXb";
    CHECK(t.encode(text) == Numbers(count, 2));
  }
}

TEST_CASE("an unknown token that is none fails where an unknown character turns up") {
  Json bpe = Json::parse(
      R"({"added_tokens": [], "normalizer": null, "pre_tokenizer": null, "model": {"type": "BPE", )"
      R"("unk_token": "<unk>", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": [["a", "b"]]}})");
  Json words = bpe;
  words["model"] = {{"type", "WordPiece"},
                    {"unk_token", "<unk>"},
                    {"continuing_subword_prefix", ""},
                    {"max_input_chars_per_word", 100},
                    {"vocab", bpe["model"]["vocab"]}};
  for (const Json& json : {bpe, words}) {
    const data::Tokenizer t(json.dump(), "t.json");
    CHECK(t.encode("aab") == Numbers{0, 2});
    const std::string met = json == bpe ? "ä" : "aä";
    CHECK(test::error_of([&] { t.encode("aä"); }) ==
          "3: t.json: model.unk_token: '<unk>' is no token, and so stands for no '" + met +
              "', which is none either; give it a number in the vocab");
  }
  for (const bool fuses : {false, true}) {
    bpe["model"]["fuse_unk"] = fuses;
    const std::string text = bpe.dump();
    const data::Tokenizer t(text, "t.json");
    CHECK(t.encode(std::string(200, 'a') + "b").size() == 200);
    CHECK(contains(test::error_of([&] { t.encode(std::string(200, 'a') + "ää"); }), "no 'ä'"));
  }
}

TEST_CASE("patterns that PCRE2 reads in another way are refused") {
  const auto error = [](const std::string& pattern) {
    return failure("llama3", [&](Json& json) {
      json["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"] = pattern;
    });
  };
  for (const char* same : {"a|b", "[^\\S\\n]+", "\\p{Lu}\\w{2,}(?=x)", "(?i:a)b", "a(?i)b",
                           "a{1,2}?", "\\p{Han}", "\\x{4e00}", "a{2}", "\\$\\]"}) {
    CAPTURE(same);
    CHECK(error(same).empty());
  }
  for (const char* differs :
       {"[a[b]]", "[a&&b]", "(?m:.)", "(?<name>a)", "\\h", "\\bx", "a{2}+", "a{2}?", "a(?i)b|c",
        "(?i:ss)", "a{,2}", "a{b}", "\\p", "[\\W]", "[]a]", "\\v", "a\\"}) {
    CAPTURE(differs);
    CHECK(contains(error(differs), "t.json: pre_tokenizer.pretokenizers[0].pattern.Regex: "));
    CHECK(contains(error(differs), "does not mean the same to Oniguruma and to PCRE2"));
  }
  CHECK(contains(error("(a"), "is not a regular expression: "));
}

TEST_CASE("a tokenizer is a codec of texts, with the tokens around them") {
  data::Vocabulary vocabulary{"token", {}, fixture("bert")};
  const auto codec = data::make_text_codec(vocabulary);
  CHECK(codec->count() == 420);
  const Numbers numbers = codec->encode("Hello", "--prompt");
  CHECK(numbers == tokenizer("bert").encode("Hello"));
  CHECK(numbers.front() == 2);
  CHECK(numbers.back() == 3);
  CHECK(codec->decode(numbers) == "[CLS] hello [SEP]");
  CHECK(test::error_of([&] { codec->encode("a\xff", "--prompt"); }) ==
        "2: --prompt: byte 1 (0xff) is no UTF-8; convert the text (iconv -f latin1 -t utf8)");
}
