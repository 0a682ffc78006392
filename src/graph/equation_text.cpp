#include "graph/equation_text.h"

#include <algorithm>

#include "base/check.h"

namespace meshwork {
namespace {

std::string trim(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(' ');
  return begin == std::string::npos ? ""
                                    : text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

}  // namespace

EquationText split_equation(const std::string& text) {
  const std::size_t comma = text.find(',');
  const std::size_t arrow = text.find("->");
  MW_CHECK(comma != std::string::npos && arrow != std::string::npos && comma < arrow,
           "equation '{}'", text);
  return {trim(text.substr(0, comma)), trim(text.substr(comma + 1, arrow - comma - 1)),
          trim(text.substr(arrow + 2))};
}

std::vector<std::string> factor_names(const std::string& operand) {
  std::vector<std::string> result;
  std::size_t begin = 0;
  while ((begin = operand.find_first_not_of(' ', begin)) != std::string::npos) {
    const std::size_t end = std::min(operand.find(' ', begin), operand.size());
    result.push_back(operand.substr(begin, end - begin));
    begin = end;
  }
  return result;
}

bool has_factor(const std::string& operand, const std::string& name) {
  const auto factors = factor_names(operand);
  return std::find(factors.begin(), factors.end(), name) != factors.end();
}

}  // namespace meshwork
