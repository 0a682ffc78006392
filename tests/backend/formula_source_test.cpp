// Formulas of elementwise ops written down: all that a generator of code for another device needs
// is a number that writes what is done with it.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <initializer_list>
#include <string>

#include "elementwise/all.h"

using namespace meshwork;

namespace {

/// The statements so far, each of which names a value.
struct Writer {
  std::string statements;
  int values = 0;
};

class Source {
 public:
  Source(float x) : type_("float"), text_(literal(x)) {}
  Source(double x) : Source(static_cast<float>(x)) {}
  Source(int x) : type_("int"), text_(fmt::format("{}", x)) {}
  Source(Writer& writer, std::string name)
      : writer_(&writer), type_("float"), text_(std::move(name)) {}

  const std::string& text() const { return text_; }

  friend Source operator+(const Source& a, const Source& b) { return infix(a, "+", b); }
  friend Source operator-(const Source& a, const Source& b) { return infix(a, "-", b); }
  friend Source operator*(const Source& a, const Source& b) { return infix(a, "*", b); }
  friend Source operator/(const Source& a, const Source& b) { return infix(a, "/", b); }
  friend Source operator-(const Source& x) { return call("-", x); }
  friend Source operator<(const Source& a, const Source& b) { return infix(a, "<", b, "bool"); }
  friend Source operator>(const Source& a, const Source& b) { return infix(a, ">", b, "bool"); }
  friend Source operator>=(const Source& a, const Source& b) { return infix(a, ">=", b, "bool"); }
  friend Source operator==(const Source& a, const Source& b) { return infix(a, "==", b, "bool"); }
  friend Source operator!=(const Source& a, const Source& b) { return infix(a, "!=", b, "bool"); }
  friend Source operator&(const Source& a, const Source& b) { return infix(a, "&", b); }
  friend Source operator<<(const Source& a, int bits) { return infix(a, "<<", bits, "int"); }
  friend Source operator>>(const Source& a, int bits) { return infix(a, ">>", bits, "int"); }
  friend Source sum(const Source& a, const Source& b) { return a + b; }
  friend Source difference(const Source& a, const Source& b) { return a - b; }
  friend Source product(const Source& a, const Source& b) { return a * b; }
  friend Source choose(const Source& condition, const Source& a, const Source& b) {
    return let(common(a, b), fmt::format("{} ? {} : {}", condition.text_, a.text_, b.text_),
               {&condition, &a, &b});
  }
  friend Source truth(const Source& condition) { return choose(condition, 1.0F, 0.0F); }
  friend Source word_of(const Source& x) { return call("__float_as_int", x, "int"); }
  friend Source from_word(const Source& x) { return call("__int_as_float", x, "float"); }
  friend Source to_real(const Source& x) { return call("float", x, "float"); }
  friend Source copysign(const Source& x, const Source& sign) {
    return let("float", fmt::format("copysignf({}, {})", x.text_, sign.text_), {&x, &sign});
  }
  friend Source pow(const Source& a, const Source& b) {
    return let("float", fmt::format("powf({}, {})", a.text_, b.text_), {&a, &b});
  }
  friend Source cos(const Source& x) { return call("cosf", x); }
  friend Source erf(const Source& x) { return call("erff", x); }
  friend Source exp(const Source& x) { return call("expf", x); }
  friend Source expm1(const Source& x) { return call("expm1f", x); }
  friend Source fabs(const Source& x) { return call("fabsf", x); }
  friend Source floor(const Source& x) { return call("floorf", x); }
  friend Source log(const Source& x) { return call("logf", x); }
  friend Source log1p(const Source& x) { return call("log1pf", x); }
  friend Source sin(const Source& x) { return call("sinf", x); }
  friend Source sqrt(const Source& x) { return call("sqrtf", x); }
  friend Source tanh(const Source& x) { return call("tanhf", x); }

 private:
  static std::string literal(float x) {
    if (std::isnan(x)) return "NAN";
    if (std::isinf(x)) return x > 0 ? "INFINITY" : "-INFINITY";
    return fmt::format("{:a}f", x);
  }
  static std::string common(const Source& a, const Source& b) {
    return b.type_ == "float" ? b.type_ : a.type_;
  }
  static Source let(const std::string& type, const std::string& text,
                    std::initializer_list<const Source*> operands) {
    Writer* writer = nullptr;
    for (const Source* operand : operands) {
      if (operand->writer_ != nullptr) writer = operand->writer_;
    }
    REQUIRE(writer != nullptr);
    Source result(*writer, fmt::format("v{}", writer->values++));
    result.type_ = type;
    writer->statements += fmt::format("{} {} = {};\n", type, result.text_, text);
    return result;
  }
  static Source infix(const Source& a, const char* op, const Source& b, const char* type = "") {
    return let(*type != 0 ? type : common(a, b), fmt::format("{} {} {}", a.text_, op, b.text_),
               {&a, &b});
  }
  static Source call(const char* name, const Source& x, const char* type = "") {
    return let(*type != 0 ? type : x.type_, fmt::format("{}({})", name, x.text_), {&x});
  }

  Writer* writer_ = nullptr;
  std::string type_;
  std::string text_;
};

template <class Entry>
std::string source_of() {
  Writer writer;
  const Source a(writer, "a"), b(writer, "b"), c(writer, "c");
  std::string result;
  if constexpr (elementwise::operand_count<Entry>() == 1) {
    result = Entry::apply(a).text();
  } else if constexpr (elementwise::operand_count<Entry>() == 2) {
    result = Entry::apply(a, b).text();
  } else {
    result = Entry::apply(a, b, c).text();
  }
  return writer.statements + "return " + result + ";\n";
}

/// Of what a formula approximates.
template <class Entry>
std::string exact_source_of() {
  Writer writer;
  const std::string result = Entry::exact(Source(writer, "x")).text();
  return writer.statements + "return " + result + ";\n";
}

template <class Entry>
void check_sources() {
  INFO(Entry::kTraits.name);
  CHECK(source_of<Entry>().find("v0 = ") != std::string::npos);
  if constexpr (Entry::kTraits.ulps > 0) CHECK(exact_source_of<Entry>().find("v0 = ") == 6);
}

template <class... Entries>
void check_all_sources(elementwise::List<Entries...>) {
  (check_sources<Entries>(), ...);
}

}  // namespace

TEST_CASE("the formula of every elementwise op can be written down") {
  check_all_sources(elementwise::All{});
  CHECK(source_of<elementwise::Relu>() ==
        "bool v0 = a < 0;\n"
        "float v1 = v0 ? 0 : a;\n"
        "return v1;\n");
  CHECK(exact_source_of<elementwise::Sigmoid>() ==
        "float v0 = -(x);\n"
        "float v1 = expf(v0);\n"
        "float v2 = 0x1p+0f + v1;\n"
        "float v3 = 0x1p+0f / v2;\n"
        "return v3;\n");
}
