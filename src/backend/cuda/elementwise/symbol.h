#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include "base/check.h"

namespace meshwork::cuda {

/// Statements of CUDA C++, each of which names a value: "const auto v1 = v0 * v0;".
class Writer {
 public:
  /// The name of the value of an expression.
  std::string let(const std::string& expression);

  const std::string& statements() const { return statements_; }

 private:
  std::string statements_;
  int values_ = 0;
};

/// A literal of CUDA C++.
std::string literal(float x);
std::string literal(std::int32_t x);
std::string literal(std::int64_t x);

/// A number of type T that writes down what is done with it, in the words of elementwise/number.h:
/// the T with which formulas of elementwise ops become source text.
///
///     Writer writer;
///     const Symbol<float> x(writer, "x");
///     Relu::apply(x).text();  // "v1"; writer has "const auto v0 = x < 0x0p+0f;\n.."
template <class T>
class Symbol {
 public:
  Symbol(T x) : text_(literal(x)) {}
  /// Of a name or another expression that binds as tightly.
  Symbol(Writer& writer, std::string text) : writer_(&writer), text_(std::move(text)) {}

  const std::string& text() const { return text_; }

  friend Symbol operator+(const Symbol& a, const Symbol& b) { return infix<T>(a, "+", b); }
  friend Symbol operator-(const Symbol& a, const Symbol& b) { return infix<T>(a, "-", b); }
  friend Symbol operator*(const Symbol& a, const Symbol& b) { return infix<T>(a, "*", b); }
  friend Symbol operator/(const Symbol& a, const Symbol& b) { return infix<T>(a, "/", b); }
  friend Symbol operator&(const Symbol& a, const Symbol& b) { return infix<T>(a, "&", b); }
  friend Symbol operator<<(const Symbol& a, int bits) { return infix<T>(a, "<<", Symbol(bits)); }
  friend Symbol operator>>(const Symbol& a, int bits) { return infix<T>(a, ">>", Symbol(bits)); }
  friend Symbol operator-(const Symbol& x) {
    if constexpr (std::is_integral_v<T>) return difference(Symbol(0), x);
    return call<T>("-", x);
  }
  friend Symbol<bool> operator<(const Symbol& a, const Symbol& b) { return infix<bool>(a, "<", b); }
  friend Symbol<bool> operator>(const Symbol& a, const Symbol& b) { return infix<bool>(a, ">", b); }
  friend Symbol<bool> operator>=(const Symbol& a, const Symbol& b) {
    return infix<bool>(a, ">=", b);
  }
  friend Symbol<bool> operator==(const Symbol& a, const Symbol& b) {
    return infix<bool>(a, "==", b);
  }
  friend Symbol<bool> operator!=(const Symbol& a, const Symbol& b) {
    return infix<bool>(a, "!=", b);
  }

  friend Symbol sum(const Symbol& a, const Symbol& b) { return wrapping(a, "+", b); }
  friend Symbol difference(const Symbol& a, const Symbol& b) { return wrapping(a, "-", b); }
  friend Symbol product(const Symbol& a, const Symbol& b) { return wrapping(a, "*", b); }

  friend Symbol choose(const Symbol<bool>& condition, const Symbol& a, const Symbol& b) {
    Writer* const writer = condition.writer() != nullptr ? condition.writer() : writer_of(a, b);
    return let<T>(writer, condition.text() + " ? " + a.text_ + " : " + b.text_);
  }
  friend Symbol<float> truth(const Symbol& condition) {
    static_assert(std::is_same_v<T, bool>);
    return choose(condition, Symbol<float>(1.0F), Symbol<float>(0.0F));
  }
  friend Symbol<std::int32_t> word_of(const Symbol& x) {
    return call<std::int32_t>("__float_as_int", x);
  }
  friend Symbol<float> from_word(const Symbol& x) { return call<float>("__int_as_float", x); }
  friend Symbol<float> to_real(const Symbol& x) { return call<float>("(float)", x); }

  friend Symbol fabs(const Symbol& x) {
    if constexpr (std::is_integral_v<T>) {
      const Symbol negative = -x;
      return choose(x < Symbol(0), negative, x);
    }
    return call<T>("fabsf", x);
  }
  friend Symbol multiply_add(const Symbol& a, const Symbol& b, const Symbol& c) {
    Writer* const writer = a.writer_ != nullptr ? a.writer_ : writer_of(b, c);
    return let<T>(writer, "fmaf(" + a.text_ + ", " + b.text_ + ", " + c.text_ + ")");
  }
  /// Of CUDA, within 2 units in the last place.
  friend Symbol native_exp(const Symbol& x) { return call<T>("expf", x); }

  friend Symbol copysign(const Symbol& x, const Symbol& sign) { return call("copysignf", x, sign); }
  friend Symbol pow(const Symbol& a, const Symbol& b) { return call("powf", a, b); }
  friend Symbol cos(const Symbol& x) { return call<T>("cosf", x); }
  friend Symbol erf(const Symbol& x) { return call<T>("erff", x); }
  friend Symbol exp(const Symbol& x) { return call<T>("expf", x); }
  friend Symbol expm1(const Symbol& x) { return call<T>("expm1f", x); }
  friend Symbol floor(const Symbol& x) { return call<T>("floorf", x); }
  friend Symbol log(const Symbol& x) { return call<T>("logf", x); }
  friend Symbol log1p(const Symbol& x) { return call<T>("log1pf", x); }
  friend Symbol sin(const Symbol& x) { return call<T>("sinf", x); }
  friend Symbol sqrt(const Symbol& x) { return call<T>("sqrtf", x); }
  friend Symbol tanh(const Symbol& x) { return call<T>("tanhf", x); }

  Writer* writer() const { return writer_; }

 private:
  static Writer* writer_of(const Symbol& a, const Symbol& b) {
    return a.writer_ != nullptr ? a.writer_ : b.writer_;
  }
  template <class Y>
  static Symbol<Y> let(Writer* writer, const std::string& expression) {
    MW_CHECK(writer != nullptr, "a formula of literals alone: {}", expression);
    return {*writer, writer->let(expression)};
  }
  template <class Y>
  static Symbol<Y> infix(const Symbol& a, const char* op, const Symbol& b) {
    return let<Y>(writer_of(a, b), a.text_ + " " + op + " " + b.text_);
  }
  template <class Y>
  static Symbol<Y> call(const char* name, const Symbol& x) {
    return let<Y>(x.writer_, std::string(name) + "(" + x.text_ + ")");
  }
  static Symbol call(const char* name, const Symbol& a, const Symbol& b) {
    return let<T>(writer_of(a, b), std::string(name) + "(" + a.text_ + ", " + b.text_ + ")");
  }
  /// Whole numbers wrap around, which in CUDA C++ too those without a sign alone do.
  static Symbol wrapping(const Symbol& a, const char* op, const Symbol& b) {
    if constexpr (std::is_integral_v<T>) {
      const std::string bits = std::to_string(8 * sizeof(T));
      const std::string as = "(uint" + bits + ")";
      const std::string result = as + a.text_ + " " + op + " " + as + b.text_;
      return let<T>(writer_of(a, b), "(int" + bits + ")(" + result + ")");
    }
    return infix<T>(a, op, b);
  }

  Writer* writer_ = nullptr;  ///< none of a literal
  std::string text_;
};

}  // namespace meshwork::cuda
