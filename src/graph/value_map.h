#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace meshwork {

/// Index of a node in its graph; every node gives exactly one value.
using ValueId = std::int32_t;
constexpr ValueId kNoValue = -1;

/// One T for each value of a graph.
template <class T>
class ValueMap : private std::vector<T> {
  using Items = std::vector<T>;

 public:
  ValueMap() = default;
  explicit ValueMap(std::size_t count, const T& item = T()) : Items(count, item) {}

  typename Items::reference operator[](ValueId id) {
    return Items::operator[](static_cast<std::size_t>(id));
  }
  typename Items::const_reference operator[](ValueId id) const {
    return Items::operator[](static_cast<std::size_t>(id));
  }
  /// As the next value, whose id it returns.
  ValueId append(T item) {
    push_back(std::move(item));
    return static_cast<ValueId>(size()) - 1;
  }

  using Items::assign;
  using Items::back;
  using Items::begin;
  using Items::empty;
  using Items::end;
  using Items::push_back;
  using Items::resize;
  using Items::size;
  bool operator==(const ValueMap&) const = default;
};

/// The ids from `first` up to, and without, `last`.
class ValueRange {
 public:
  struct Iterator {
    ValueId id;
    ValueId operator*() const { return id; }
    Iterator& operator++() {
      ++id;
      return *this;
    }
    bool operator==(const Iterator&) const = default;
  };
  ValueRange(ValueId first, ValueId last) : first_(first), last_(last) {}
  Iterator begin() const { return {first_}; }
  Iterator end() const { return {last_}; }

 private:
  ValueId first_;
  ValueId last_;
};

}  // namespace meshwork
