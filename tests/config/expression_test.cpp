#include "config/expression.h"

#include <doctest/doctest.h>

#include <utility>

#include "config/config_text.h"
#include "config/yaml.h"

using namespace meshwork::config;

namespace {

/// {n: 3, half: 0.5, yes: true, kind: mlp, quoted: "7", none: null, widths: [16, 32, 64]}
Parameters parameters() {
  const Value map = parse_yaml(
      "{n: 3, half: 0.5, on: true, kind: mlp, quoted: '7', none: null, widths: [16, 32, 64]}",
      "p.yaml");
  Parameters result;
  for (const Value::Entry& entry : map.map) result[entry.key] = entry.value;
  return result;
}

const Location kPlace{"c.yaml", 4, 9};

std::string result(const std::string& expression) {
  const Value value = evaluate(expression, parameters(), kPlace);
  CHECK(to_string(value.at) == "c.yaml:4:9");
  return value.is_scalar() ? value.scalar : describe(value);
}

/// The Error without its place.
std::string complaint(const std::string& expression) {
  const std::string place = "c.yaml:4:9: expression '" + expression + "': ";
  const std::string text = error_of([&] { evaluate(expression, parameters(), kPlace); });
  CAPTURE(text);
  CHECK(text.starts_with(place));
  return text.substr(std::min(place.size(), text.size()));
}

std::string replaced(const std::string& yaml) {
  return to_yaml(substitute(parse_yaml(yaml, "c.yaml"), parameters()));
}

std::string replacing_error(const std::string& yaml) {
  return error_of([&] { substitute(parse_yaml(yaml, "c.yaml"), parameters()); });
}

}  // namespace

TEST_CASE("numbers are computed as in Python") {
  CHECK(result("1 + 2 * 3") == "7");
  CHECK(result("(1 + 2) * 3") == "9");
  CHECK(result("10 - 4 - 3") == "3");
  CHECK(result("2 ** 3 ** 2") == "512");
  CHECK(result("-2 ** 2") == "-4");
  CHECK(result("2 ** -1") == "0.5");
  CHECK(result("16 * 2 ** n") == "128");
  CHECK(result("8 / 4") == "2");
  CHECK(result("7 / 2") == "3.5");
  CHECK(result("7 // 2") == "3");
  CHECK(result("-7 // 2") == "-4");
  CHECK(result("-7 % 3") == "2");
  CHECK(result("7 % -3") == "-2");
  CHECK(result("-8 // -1") == "8");
  CHECK(result("n * half") == "1.5");
  CHECK(result("4 * half") == "2");
  CHECK(result("1e-3 + 0") == "0.001");
  CHECK(result("9223372036854775807 - 1") == "9223372036854775806");
  CHECK(result("(-1) ** 9223372036854775807") == "-1");
  CHECK(result("0 ** 0") == "1");
}

TEST_CASE("conditions, words and lists") {
  CHECK(result("n == 3 and kind == 'mlp'") == "true");
  CHECK(result("n != 3.0 or not on") == "false");
  CHECK(result("not n > 3") == "true");
  CHECK(result("1 < 2") == "true");
  CHECK(result("2 <= half") == "false");
  CHECK(result("none == null") == "true");
  CHECK(result("kind != null") == "true");
  CHECK(result("quoted == 7") == "false");
  CHECK(result("quoted == '7'") == "true");
  CHECK(result("'true' == true") == "false");
  CHECK(result("2 if n == 0 else 1") == "1");
  CHECK(result("1 if n == 1 else 2 if n == 2 else 3") == "3");
  CHECK(result("widths[0] + widths[-1]") == "80");
  CHECK(result("len(widths)") == "3");
  CHECK(result("widths") == "a list");
  CHECK(result("\"a b\"") == "a b");
}

TEST_CASE("only the branch that is taken is computed") {
  CHECK(result("widths[n] if n < 3 else 64") == "64");
  CHECK(result("n == 0 and 1 / 0 == 1") == "false");
  CHECK(result("on or 1 / 0 == 1") == "true");
}

TEST_CASE("mistakes in expressions") {
  CHECK(complaint("2 *") == "a value is missing at the end");
  CHECK(complaint("") == "a value is missing at the end");
  CHECK(complaint("2 3") == "an operator is wanted where '3' stands");
  CHECK(complaint("(2") == "')' is missing at the end");
  CHECK(complaint("1 if on") == "'else' is missing at the end");
  CHECK(complaint("2 + else") == "a value is wanted where 'else' stands");
  CHECK(complaint("2 & 3") == "'&' means nothing here");
  CHECK(complaint("'a") == "the quote ' is not closed");
  CHECK(complaint("2x") == "'2x' is no number");
  CHECK(complaint("width + 1") == "there is no parameter 'width'; nearest: 'widths'");
  CHECK(complaint("kind * 2") == "'mlp' is no number");
  CHECK(complaint("quoted + 1") == "'7' is no number");
  CHECK(complaint("1 if n else 2") == "'3' is neither true nor false");
  CHECK(complaint("1 // 0") == "division by zero");
  CHECK(complaint("2 ** 63") == "an integer has more than 63 bits");
  CHECK(complaint("9223372036854775807 + 1") == "an integer has more than 63 bits");
  CHECK(complaint("1e308 * 10") == "the result is not finite");
  CHECK(complaint("(-8) ** half") == "the result is not finite");
  CHECK(complaint("widths[3]") == "there is no element 3 in a list of 3, counted from 0");
  CHECK(complaint("widths[half]") == "'0.5' is no place in a list");
  CHECK(complaint("n[0]") == "'3' is no list");
  CHECK(complaint("widths == widths") == "lists and maps cannot be compared");
}

TEST_CASE("no expression is too long") {
  std::string sum = "1";
  for (int i = 0; i < 2000; ++i) sum += "+1";  // 4001 characters
  CHECK(evaluate(sum, parameters(), kPlace).as_integer("sum") == 2001);
  for (int i = 0; i < 8000; ++i) sum += "+1";
  CHECK(error_of([&] { evaluate(sum, parameters(), kPlace); })
            .ends_with("1+1+... (20001 bytes)': is longer than 4096 characters; compute a part of "
                       "it in a parameter"));
}

TEST_CASE("no expression is too deep for the stack") {
  const std::pair<const char*, const char*> chains[] = {
      {"true", " and true"}, {"false", " or false"}, {"1", "+0"}, {"1", "*1"}};
  for (const auto& [value, more] : chains) {
    std::string text = value;
    while (text.size() < 4000) text += more;
    CHECK(evaluate(text, parameters(), kPlace).scalar == value);
  }
  for (const char* open : {"(", "-", "not ", "2 ** ", "len(", "widths["}) {
    std::string text;
    for (int i = 0; i < 500; ++i) text += open;
    const std::string error = error_of([&] { evaluate(text, parameters(), kPlace); });
    CHECK(error.ends_with("nested more than 64 deep"));
  }
}

TEST_CASE("parameters are replaced in words, lists and keys") {
  CHECK(replaced("$n") == "3\n");
  CHECK(replaced("[$n, $(n * 2), 'w$n', w$(n)x, \"$on\"]") == "[3, 6, \"w3\", w3x, true]\n");
  CHECK(replaced("{units: $widths, $kind: $kind}") == "units: [16, 32, 64]\nmlp: mlp\n");
  CHECK(replaced("cost $$3") == "cost $3\n");
  CHECK(replaced("$none") == "~\n");
  CHECK(replaced("{a: {b: [{c: $n}]}}") == "a:\n  b: [{c: 3}]\n");
  // A quoted number stays a word.
  CHECK(replaced("$quoted") == "\"7\"\n");
}

TEST_CASE("mistakes in the replacing of parameters") {
  CHECK(replacing_error("a: $") ==
        "c.yaml:1:4: '$': a parameter is written $name, an expression $(name * 2), and a dollar "
        "sign $$");
  CHECK(replacing_error("a: '${n}'").find("an expression $(name * 2)") != std::string::npos);
  CHECK(replacing_error("a: $(n") == "c.yaml:1:4: '$(n': the parenthesis after '$' is not closed");
  CHECK(replacing_error("a: x$widths") ==
        "c.yaml:1:4: 'x$widths': a list cannot stand within a word");
  CHECK(replacing_error("{mlp: 1, $kind: 2}") == "c.yaml:1:10: key 'mlp' stands twice; remove one");
}

TEST_CASE("parameters of parameters do not grow without bound") {
  std::string params = "a0: [1, 1]";
  for (int i = 1; i < 64; ++i) {
    const std::string before = "$a" + std::to_string(i - 1);
    params += ", a" + std::to_string(i) + ": [" + before + ", " + before + "]";
  }
  const std::string error =
      parse_error("model: {params: {" + params + "}, input: [4], layers: [ReLU]}");
  CHECK(error.find("the parameters stand for more than a million values") != std::string::npos);
}
