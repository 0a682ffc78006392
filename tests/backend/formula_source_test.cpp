// Formulas of elementwise ops written down: all that a generator of code for another device needs
// is a number that writes what is done with it.
#include <doctest/doctest.h>

#include <string>

#include "backend/cuda/elementwise/symbol.h"
#include "elementwise/all.h"

using namespace meshwork;
using cuda::Symbol;
using cuda::Writer;

namespace {

std::string text_of(const Writer& writer, const std::string& result) {
  return writer.statements() + "return " + result + ";\n";
}

template <class Entry, class T = float>
std::string source_of() {
  Writer writer;
  const Symbol<T> a(writer, "a"), b(writer, "b"), c(writer, "c");
  if constexpr (elementwise::operand_count<Entry>() == 1) {
    return text_of(writer, Entry::apply(a).text());
  } else if constexpr (elementwise::operand_count<Entry>() == 2) {
    return text_of(writer, Entry::apply(a, b).text());
  } else {
    return text_of(writer, Entry::apply(a, b, c).text());
  }
}

/// Of what a formula approximates.
template <class Entry>
std::string exact_source_of() {
  Writer writer;
  return text_of(writer, Entry::exact(Symbol<float>(writer, "x")).text());
}

template <class Entry>
void check_sources() {
  INFO(Entry::kTraits.name);
  CHECK(source_of<Entry>().find("v0 = ") != std::string::npos);
  if constexpr (Entry::kTraits.ulps > 0) CHECK(exact_source_of<Entry>().find("v0 = ") == 11);
}

template <class... Entries>
void check_all_sources(elementwise::List<Entries...>) {
  (check_sources<Entries>(), ...);
}

}  // namespace

TEST_CASE("the formula of every elementwise op can be written down") {
  check_all_sources(elementwise::All{});
  CHECK(source_of<elementwise::Relu>() ==
        "const auto v0 = a < 0x0p+0f;\n"
        "const auto v1 = v0 ? 0x0p+0f : a;\n"
        "return v1;\n");
  CHECK(exact_source_of<elementwise::Sigmoid>() ==
        "const auto v0 = -(x);\n"
        "const auto v1 = expf(v0);\n"
        "const auto v2 = 0x1p+0f + v1;\n"
        "const auto v3 = 0x1p+0f / v2;\n"
        "return v3;\n");
}

TEST_CASE("formulas of whole numbers say that these wrap around") {
  CHECK(source_of<elementwise::Add, std::int32_t>() ==
        "const auto v0 = (int32)((uint32)a + (uint32)b);\n"
        "return v0;\n");
  CHECK(source_of<elementwise::Abs, std::int64_t>() ==
        "const auto v0 = (int64)((uint64)0LL - (uint64)a);\n"
        "const auto v1 = a < 0LL;\n"
        "const auto v2 = v1 ? v0 : a;\n"
        "return v2;\n");
  CHECK(source_of<elementwise::Equal, std::int64_t>() ==
        "const auto v0 = a == b;\n"
        "const auto v1 = v0 ? 0x1p+0f : 0x0p+0f;\n"
        "return v1;\n");
}
