#include "graph/attrs.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/join.h"

namespace meshwork {
namespace {

struct Printer {
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::int64_t value) const { return fmt::format("{}", value); }
  std::string operator()(double value) const {
    std::string text = fmt::format("{}", value);
    if (text.find_first_of(".en") == std::string::npos) text += ".0";
    return text;
  }
  std::string operator()(const std::string& value) const { return quoted(value); }
  std::string operator()(const std::vector<std::int64_t>& value) const {
    return fmt::format("[{}]", join(value, ", "));
  }
  std::string operator()(const std::vector<double>& value) const {
    std::vector<std::string> texts;
    for (const double real : value) texts.push_back((*this)(real));
    return fmt::format("[{}]", join(texts, ", "));
  }
};

}  // namespace

Attrs::Attrs(std::initializer_list<Entries::value_type> entries)
    : entries_(std::make_shared<const Entries>(entries)) {}

const Attrs::Entries& Attrs::entries() const {
  static const Entries none;
  return entries_ == nullptr ? none : *entries_;
}

bool Attrs::operator==(const Attrs& other) const {
  return entries_ == other.entries_ || entries() == other.entries();
}

void Attrs::set(std::string_view name, Attr value) {
  auto changed = std::make_shared<Entries>(entries());
  const auto current = std::ranges::find(*changed, name, &Entries::value_type::first);
  if (current != changed->end()) {
    current->second = std::move(value);
  } else {
    changed->emplace_back(name, std::move(value));
  }
  entries_ = std::move(changed);
}

const Attr* Attrs::find(std::string_view name) const {
  if (entries_ == nullptr) return nullptr;
  const auto found = std::ranges::find(*entries_, name, &Entries::value_type::first);
  return found == entries_->end() ? nullptr : &found->second;
}

const Attr& Attrs::at(std::string_view name) const {
  const Attr* value = find(name);
  MW_CHECK(value != nullptr, "no attribute '{}' in {}", name, to_string(*this));
  return *value;
}

template <class T>
const T& Attrs::get(std::string_view name) const {
  const T* value = std::get_if<T>(&at(name));
  MW_CHECK(value != nullptr, "attribute '{}' has another type in {}", name, to_string(*this));
  return *value;
}

template const bool& Attrs::get<bool>(std::string_view) const;
template const std::int64_t& Attrs::get<std::int64_t>(std::string_view) const;
template const double& Attrs::get<double>(std::string_view) const;
template const std::string& Attrs::get<std::string>(std::string_view) const;
template const std::vector<std::int64_t>& Attrs::get<std::vector<std::int64_t>>(
    std::string_view) const;
template const std::vector<double>& Attrs::get<std::vector<double>>(std::string_view) const;

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (c == '\n') {
      result += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      result += c;
    }
  }
  return result + '"';
}

std::string to_string(const Attrs& attrs) {
  if (attrs.entries().empty()) return {};
  std::vector<std::string> parts;
  for (const auto& [name, value] : attrs.entries()) {
    parts.push_back(fmt::format("{}={}", name, std::visit(Printer{}, value)));
  }
  return fmt::format("{{{}}}", join(parts, ", "));
}

}  // namespace meshwork
