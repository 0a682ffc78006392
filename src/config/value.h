#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/shape.h"

namespace meshwork::config {

/// Where a value was written. Line and column count from 1; 0 where there is no file.
struct Location {
  std::string file;  ///< "configs/mnist.yaml", or "command line"
  int line = 0;
  int column = 0;
};

/// "configs/mnist.yaml:14:7".
std::string to_string(const Location& at);

struct Value;

/// What a value is, for errors: "'many'", "a list", "a map", "nothing".
std::string describe(const Value& value);

/// Throws a configuration Error that begins with the place.
template <class... Args>
[[noreturn]] void fail_at(const Location& at, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(
      ExitCode::kConfiguration,
      fmt::format("{}: {}", to_string(at), fmt::format(format, std::forward<Args>(args)...)));
}

/// A YAML value that knows where it was written.
struct Value {
  enum class Kind { kNull, kScalar, kList, kMap };
  struct Entry;

  Kind kind = Kind::kNull;
  Location at;
  std::string scalar;   ///< text of a scalar
  bool quoted = false;  ///< a quoted scalar is a string whatever it looks like
  std::vector<Value> list;
  std::vector<Entry> map;  ///< in the order of the file; keys are unique

  Value();  // these are in value.cpp: half a hundred files would compile them
  Value(const Value& other);
  Value(Value&& other) noexcept;
  Value& operator=(const Value& other);
  Value& operator=(Value&& other) noexcept;
  ~Value();
  static Value of_text(std::string text, const Location& at = {});  ///< a scalar

  bool is_null() const { return kind == Kind::kNull; }
  bool is_scalar() const { return kind == Kind::kScalar; }
  bool is_list() const { return kind == Kind::kList; }
  bool is_map() const { return kind == Kind::kMap; }

  const Entry* find(std::string_view key) const;
  Entry* find(std::string_view key);

  /// The entry of `key`, made at the end with a null value if it is absent. Null becomes a map.
  Entry& insert(std::string_view key, const Location& key_at);
  /// Removes `key` and gives its value; null if it is absent.
  Value take(std::string_view key);
  std::vector<std::string> keys() const;

  /// Conversions; `what` names the value in the Error: "units must be an integer, not 'many'".
  bool as_bool(std::string_view what) const;
  std::int64_t as_integer(std::string_view what) const;
  std::uint64_t as_unsigned(std::string_view what) const;
  double as_real(std::string_view what) const;
  std::string as_string(std::string_view what) const;
  Shape as_shape(std::string_view what) const;  ///< one integer stands for a list of one

  bool is_bool() const;
  bool is_integer() const;
  bool is_real() const;  ///< an integer is a real, too
};

struct Value::Entry {
  std::string key;
  Location at;  ///< of the key
  Value value;
};

/// Words and what they stand for.
template <class T>
using Choices = std::vector<std::pair<std::string, T>>;

/// "strategy 'model_paralel' is unknown; nearest: 'model_parallel'".
[[noreturn]] void fail_unknown(const Value& value, std::string_view what,
                               const std::vector<std::string>& known);

/// What the word stands for; an Error if it is none of these.
template <class T>
T choose(const Value& value, std::string_view what, const Choices<T>& choices) {
  std::vector<std::string> known;
  for (const auto& [word, choice] : choices) {
    if (value.as_string(what) == word) return choice;
    known.push_back(word);
  }
  fail_unknown(value, what, known);
}

/// The numbers that a key may have.
struct Range {
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  bool has_least = true;  ///< whether the end itself belongs to it
  bool has_most = true;
};
constexpr Range at_least(double least) { return {.least = least}; }
constexpr Range more_than(double least) { return {.least = least, .has_least = false}; }
constexpr Range between(double least, double most) { return {.least = least, .most = most}; }
/// Decay rates and the like.
constexpr Range kFromZeroBelowOne{.least = 0, .most = 1, .has_most = false};

/// Reads the keys of a map one by one; finish() makes an Error of every key that nobody read, with
/// the place, and where it stands further down, or the nearest known keys. A null value reads as an
/// empty map.
class Reader {
 public:
  /// `what` names the map in errors: "layer 'd1' (Dense)".
  Reader(const Value& map, std::string what);

  /// nullptr if the key is absent or its value null (None in Keras: the default holds).
  const Value* find(std::string_view key);
  /// As find, of a key that is an Error wherever it stands: no other Error proposes it.
  const Value* find_refused(std::string_view key);
  /// As find, but an absent key is an Error, which asks whether a key that is spelt alike is meant.
  const Value& require(std::string_view key);

  bool get(std::string_view key, bool fallback);
  std::int64_t get(std::string_view key, std::int64_t fallback);
  double get(std::string_view key, double fallback);
  std::string get(std::string_view key, const std::string& fallback);
  std::string get(std::string_view key, const char* fallback) {
    return get(key, std::string(fallback));
  }
  std::int64_t get(std::string_view key, int fallback) {
    return get(key, static_cast<std::int64_t>(fallback));
  }

  /// Numbers outside of the range are Errors at their place: "layer 'd1' (Dense): units is 0; give
  /// 1 or more".
  std::optional<double> get_real(std::string_view key, const Range& range = {});
  std::optional<std::int64_t> get_integer(std::string_view key, const Range& range = {});
  /// Of a key whose default is not None: null says none.
  std::optional<double> get_optional(std::string_view key, std::optional<double> fallback,
                                     const Range& range);
  double get(std::string_view key, double fallback, const Range& range) {
    return find(key) == nullptr ? fallback : require_real(key, range);
  }
  template <std::integral Integer>
  std::int64_t get(std::string_view key, Integer fallback, const Range& range) {
    return find(key) == nullptr ? fallback : require_integer(key, range);
  }
  double require_real(std::string_view key, const Range& range = {});
  std::int64_t require_integer(std::string_view key, const Range& range = {});

  /// What the word stands for, or `fallback` if absent.
  template <class T>
  T choose(std::string_view key, T fallback, const Choices<T>& choices) {
    const Value* value = find(key);
    return value == nullptr ? fallback
                            : config::choose(*value, fmt::format("{}: {}", what_, key), choices);
  }

  void finish() const;

  const Location& at() const { return value_.at; }
  const std::string& what() const { return what_; }

 private:
  bool is_known(std::string_view key) const;
  void check(const Value& value, std::string_view key, double number, const Range& range,
             std::string_view otherwise) const;
  template <class T>
  T checked(const Value& value, std::string_view key, T number, const Range& range,
            std::string_view otherwise = {}) const {
    check(value, key, static_cast<double>(number), range, otherwise);
    return number;
  }

  Value value_;
  std::string what_;
  std::vector<std::string> known_;
};

}  // namespace meshwork::config
