#include "train/callbacks/file_name.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/error.h"
#include "base/nearest.h"
#include "train/callbacks/monitor.h"

namespace meshwork {
namespace {

template <class Number>
std::string show(const std::string& spec, Number number) {
  return fmt::format(fmt::runtime("{" + spec + "}"), number);
}

/// Python's way to show a number that has no format is not fmt's.
std::string show_real(const std::string& spec, double value) {
  return spec.size() <= 1 ? python_text(value) : show(spec, without_nan_sign(value));
}

constexpr std::int64_t kWidest = 99;

/// Of a format: width and precision. More than kWidest, whatever it is, is kWidest + 1.
std::int64_t greatest_number(const std::string& spec) {
  std::int64_t greatest = 0, number = 0;
  for (const char c : spec) {
    const bool is_digit = c >= '0' && c <= '9';
    number = is_digit ? std::min(number * 10 + (c - '0'), kWidest + 1) : 0;
    greatest = std::max(greatest, number);
  }
  return greatest;
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

FileName::FileName(const config::Value& text, const std::string& what,
                   const std::vector<std::string>& counts, const std::vector<std::string>& logs)
    : text_(text.as_string("filepath")), parts_(1) {
  const Refuse refuse = [&](const std::string& why) {
    fail_at(text.at, "{}: filepath '{}': {}; write fields as in '{{epoch:02d}}-{{loss:.2f}}'", what,
            text_, why);
  };
  split(refuse);
  std::vector<std::string> known = counts;
  known.insert(known.end(), logs.begin(), logs.end());
  for (const Part& part : parts_) {
    if (&part == &parts_.back()) break;
    if (!contains(known, part.field)) {
      fail_at(text.at, "{}: filepath '{}': there is no '{}' to put in{}", what, text_, part.field,
              suggestion(part.field, known));
    }
    if (greatest_number(part.spec) > kWidest) {
      refuse(fmt::format("'{}' is wider than {}", part.spec, kWidest));
    }
    try {
      contains(counts, part.field) ? show(part.spec, std::int64_t{1}) : show_real(part.spec, 0.5);
    } catch (const fmt::format_error& error) {
      refuse(fmt::format("'{}' does not fit {} ({})", part.spec, part.field, error.what()));
    }
  }
}

void FileName::split(const Refuse& refuse) {
  for (std::size_t i = 0; i < text_.size(); ++i) {
    const char c = text_[i];
    const bool is_brace = c == '{' || c == '}';
    const bool is_doubled = i + 1 < text_.size() && text_[i + 1] == c;
    if (!is_brace || is_doubled) {
      parts_.back().text += c;
      if (is_brace) ++i;
      continue;
    }
    if (c == '}') refuse("a '}' ends no field");
    const std::size_t end = text_.find_first_of("{}", i + 1);
    if (end == std::string::npos || text_[end] != '}') refuse("a '{' begins a field without end");
    const std::string inside = text_.substr(i + 1, end - i - 1);
    const std::size_t colon = std::min(inside.find(':'), inside.size());
    parts_.back().field = inside.substr(0, colon);
    parts_.back().spec = inside.substr(colon);
    parts_.emplace_back();
    i = end;
  }
}

std::string FileName::folder() const {
  const std::string& text = parts_.front().text;
  const std::size_t end = text.rfind('/');
  return end == std::string::npos ? "" : text.substr(0, end + 1);
}

/// Whether the parts from `first` on may give it.
bool FileName::may_give(std::string_view name, std::size_t first) const {
  constexpr std::string_view kOfNumbers = "0123456789.,+-_ %einfaEINFA";
  const Part& part = parts_[first];
  if (!name.starts_with(part.text)) return false;
  name.remove_prefix(part.text.size());
  if (first + 1 == parts_.size()) return name.empty();
  const std::size_t most = std::min(name.find_first_not_of(kOfNumbers), name.size());
  for (std::size_t count = 1; count <= most; ++count) {
    if (may_give(name.substr(count), first + 1)) return true;
  }
  return false;
}

std::string FileName::format(const std::map<std::string, std::int64_t>& counts,
                             const Logs& logs) const {
  std::string result;
  for (const Part& part : parts_) {
    result += part.text;
    if (part.field.empty()) continue;
    const auto count = counts.find(part.field);
    const auto log = logs.find(part.field);
    MW_CHECK(count != counts.end() || log != logs.end(), "'{}' in '{}'", part.field, text_);
    result +=
        count != counts.end() ? show(part.spec, count->second) : show_real(part.spec, log->second);
  }
  return result;
}

}  // namespace meshwork
