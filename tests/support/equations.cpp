#include "support/equations.h"

#include <array>
#include <sstream>

namespace meshwork::testing {

Shape EquationCase::shape(const std::string& factors) const {
  std::istringstream names(factors);
  Shape result;
  for (std::string name; names >> name;) result.push_back(extents.at(name));
  return result;
}

std::vector<EquationCase> with_gradients(const std::string& x, const std::string& w,
                                         const std::string& y, const Extents& extents) {
  return {{x, w, y, extents}, {y, w, x, extents}, {x, y, w, extents}};
}

void append(std::vector<EquationCase>& cases, const std::vector<EquationCase>& more) {
  cases.insert(cases.end(), more.begin(), more.end());
}

std::vector<EquationCase> equation_cases() {
  std::vector<EquationCase> cases;
  for (const std::int64_t m : {0, 1, 3, 65}) {
    for (const std::int64_t n : {0, 1, 10, 70}) {
      for (const std::int64_t k : {0, 1, 5, 66}) {
        append(cases, with_gradients("m k", "k n", "m n", {{"m", m}, {"n", n}, {"k", k}}));
      }
    }
  }
  const Extents dense{{"b", 4}, {"s", 33}, {"i", 20}, {"o", 24}};
  append(cases, with_gradients("b s i", "i o", "b s o", dense));
  const Extents attention{{"b", 3}, {"q", 17}, {"k", 19}, {"h", 4}, {"d", 8}, {"f", 32}};
  append(cases, with_gradients("b q h d", "b k h d", "b h q k", attention));
  append(cases, with_gradients("b h q k", "b k h d", "b q h d", attention));
  append(cases, with_gradients("b q f", "f h d", "b q h d", attention));
  append(cases, with_gradients("b q h d", "h d f", "b q f", attention));
  for (const std::int64_t one : {0, 1}) {
    Extents edge = attention;
    for (const std::string name : {"b", "q", "k", "h", "d"}) {
      edge[name] = one;
      append(cases, with_gradients("b q h d", "b k h d", "b h q k", edge));
      edge[name] = attention.at(name);
    }
  }
  // A stack whose matrices are one column each, whose elements lie apart.
  for (const std::int64_t columns : {1, 2}) {
    const Extents gates{{"g", 4}, {"b", 6}, {"u", 3}, {"v", columns}};
    append(cases, with_gradients("g b u", "u g v", "g b v", gates));
  }
  const Extents odd{{"a", 5}, {"b", 6}, {"c", 7}, {"d", 3}, {"e", 4}};
  // Factors that cannot be merged, or that one operand alone has and loses.
  for (const auto& [x, w, y] :
       std::vector<std::array<std::string, 3>>{{"a b", "a c", "b c"},
                                               {"b a", "c a", "c b"},
                                               {"a b c", "b d", "a d c"},
                                               {"a b c", "c b d", "d a"},
                                               {"a c b", "b c", "a"},
                                               {"a b", "a b", ""},
                                               {"a", "b", "a b"},
                                               {"a", "b", "b a"},
                                               {"a b", "b", "a"},
                                               {"a", "a b", "b"},
                                               {"a b c d", "d b e", "c e a b"},
                                               {"a b c d", "d b e", "b c a e"},
                                               {"a b", "c", "a c"},
                                               {"a b", "c", "c"},
                                               {"a b", "c", ""},
                                               {"a", "a", "a"},
                                               {"a b", "a", "b a"},
                                               {"a c", "b c e", "e a b"},
                                               {"a c d", "b d c", "a b"},
                                               {"a b c", "a b c", "a b c"},
                                               {"", "", ""},
                                               {"", "a", "a"}}) {
    cases.push_back({x, w, y, odd});
  }
  return cases;
}

}  // namespace meshwork::testing
