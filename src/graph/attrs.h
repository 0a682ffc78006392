#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace meshwork {

using Attr = std::variant<bool, std::int64_t, double, std::string, std::vector<std::int64_t>,
                          std::vector<double>>;

/// The constants of a node by name, in the order in which they were set. Copies share them until
/// one is changed: passes copy nodes, and seldom change these.
/// Reading a name that is not there, or as another type, is a broken invariant.
class Attrs {
 public:
  using Entries = std::vector<std::pair<std::string, Attr>>;

  Attrs() = default;
  Attrs(std::initializer_list<Entries::value_type> entries);

  void set(std::string_view name, Attr value);
  const Attr* find(std::string_view name) const;

  bool flag(std::string_view name) const { return get<bool>(name); }
  std::int64_t integer(std::string_view name) const { return get<std::int64_t>(name); }
  double real(std::string_view name) const { return get<double>(name); }
  const std::string& text(std::string_view name) const { return get<std::string>(name); }
  const std::vector<std::int64_t>& integers(std::string_view name) const {
    return get<std::vector<std::int64_t>>(name);
  }
  const std::vector<double>& reals(std::string_view name) const {
    return get<std::vector<double>>(name);
  }

  const Entries& entries() const;
  bool operator==(const Attrs& other) const;

 private:
  const Attr& at(std::string_view name) const;
  template <class T>
  const T& get(std::string_view name) const;

  std::shared_ptr<const Entries> entries_;  ///< nullptr: none
};

/// The text in double quotes, on one line: quotes and backslashes are escaped by a backslash, line
/// feeds are \n, other control characters \x1f.
std::string quoted(std::string_view text);

/// {axes=[0, 1], keep=true, rate=0.5, equation="m k, k n -> m n"}; "" without entries. Lists of
/// reals hold one at least.
/// Reals always carry a point or an exponent, so that the text can be read back.
std::string to_string(const Attrs& attrs);

}  // namespace meshwork
