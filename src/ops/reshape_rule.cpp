#include "ops/reshape_rule.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "base/join.h"
#include "ops/rule_text.h"

namespace meshwork::ops {
namespace {

/// One side of a rule while it is being written: the text of each dimension.
struct Side {
  const Shape& shape;
  std::vector<std::string> dims;
  std::size_t next = 0;  ///< the first dimension without a text

  explicit Side(const Shape& s) : shape(s), dims(s.size()) {}

  bool at_one() const { return next < shape.size() && shape[next] == 1; }
  void skip_ones() {
    while (at_one()) dims[next++] = "1";
  }
  /// But for ones.
  bool done() const {
    return std::all_of(shape.begin() + static_cast<std::ptrdiff_t>(next), shape.end(),
                       [](std::int64_t extent) { return extent == 1; });
  }
};

/// Ones that both sides have at the same place are one factor: a batch of one sample stays where
/// it is.
void write_ones(Side& from, Side& to, std::size_t& next_name) {
  while (from.at_one() && to.at_one()) {
    from.dims[from.next++] = to.dims[to.next++] = factor_name(next_name++);
  }
  from.skip_ones();
  to.skip_ones();
}

/// Consecutive dimensions of one side, without ones.
struct Group {
  std::vector<std::size_t> dims;
  std::int64_t product = 1;
};

void take(Side& side, Group& group) {
  side.skip_ones();
  group.dims.push_back(side.next);
  group.product *= side.shape[side.next++];
}

/// Strides of the dimensions of a group, with the whole group's extent in front: the places where
/// factors are cut. {2, 6} -> {12, 6, 1}
std::vector<std::int64_t> cuts(const Side& side, const Group& group) {
  std::vector<std::int64_t> result(group.dims.size() + 1, 1);
  for (std::size_t i = group.dims.size(); i-- > 0;) {
    result[i] = result[i + 1] * side.shape[group.dims[i]];
  }
  return result;
}

/// Whether each cut is a multiple of the next one.
bool refines(const std::vector<std::int64_t>& all) {
  for (std::size_t i = 0; i + 1 < all.size(); ++i) {
    if (all[i] % all[i + 1] != 0) return false;
  }
  return true;
}

/// Each dimension gets the factors between its two cuts; factor i lies between all[i] and all[i+1].
void write_factors(Side& side, const Group& group, const std::vector<std::int64_t>& all,
                   std::size_t first_name) {
  const std::vector<std::int64_t> own = cuts(side, group);
  for (std::size_t i = 0; i < group.dims.size(); ++i) {
    std::string text;
    int count = 0;
    for (std::size_t f = 0; f + 1 < all.size(); ++f) {
      if (all[f] > own[i] || all[f] <= own[i + 1]) continue;
      text += (count++ > 0 ? " " : "") + factor_name(first_name + f);
    }
    side.dims[group.dims[i]] = count > 1 ? "(" + text + ")" : text;
  }
}

void write_whole(Side& side, const Group& group, std::size_t& next_name) {
  for (const std::size_t d : group.dims) side.dims[d] = "[" + factor_name(next_name++) + "]";
}

void write_group(Side& from, const Group& left, Side& to, const Group& right,
                 std::size_t& next_name) {
  if (left.dims.size() == 1 && right.dims.size() == 1 && left.product == right.product) {
    from.dims[left.dims[0]] = to.dims[right.dims[0]] = factor_name(next_name++);
    return;
  }
  std::vector<std::int64_t> all;
  const auto left_cuts = cuts(from, left);
  const auto right_cuts = cuts(to, right);
  std::set_union(left_cuts.begin(), left_cuts.end(), right_cuts.begin(), right_cuts.end(),
                 std::back_inserter(all), std::greater<>());
  if (left.product == 0 || left.product != right.product || !refines(all)) {
    write_whole(from, left, next_name);
    write_whole(to, right, next_name);
    return;
  }
  write_factors(from, left, all, next_name);
  write_factors(to, right, all, next_name);
  next_name += all.size() - 1;
}

}  // namespace

std::string reshape_rule(const OpArgs& args) {
  Side from(args.inputs[0].shape);
  Side to(args.output.shape);
  std::size_t next_name = 0;
  for (;;) {
    write_ones(from, to, next_name);
    if (from.done() && to.done()) break;
    // The fewest dimensions of both sides that have the same product. Where an extent is zero the
    // products may never meet; the group is then all that is left.
    Group left, right;
    if (!from.done()) take(from, left);
    if (!to.done()) take(to, right);
    while (left.product != right.product && !(from.done() && to.done())) {
      const bool extend_left = to.done() || (!from.done() && left.product < right.product);
      extend_left ? take(from, left) : take(to, right);
    }
    write_group(from, left, to, right, next_name);
  }
  return join(from.dims, " ") + " -> " + join(to.dims, " ");
}

}  // namespace meshwork::ops
