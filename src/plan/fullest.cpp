#include "plan/fullest.h"

#include <algorithm>

#include "base/index.h"
#include "plan/uses.h"

namespace meshwork {
namespace {

/// Bytes of the arena in use, from an offset on.
struct Piece {
  std::int64_t begin = 0, end = 0;
  ValueId value = kNoValue;
};

/// Pieces that do not overlap: of each byte the value that was made last.
std::vector<Piece> without_overlaps(std::vector<Piece> pieces) {
  std::ranges::sort(pieces, [](const Piece& a, const Piece& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.value > b.value;
  });
  std::vector<Piece> apart;
  std::int64_t end = 0;
  for (Piece& piece : pieces) {
    piece.begin = std::max(piece.begin, end);
    if (piece.begin >= piece.end) continue;
    end = piece.end;
    apart.push_back(piece);
  }
  return apart;
}

std::int64_t bytes_of(const std::vector<Piece>& pieces) {
  std::int64_t bytes = 0;
  for (const Piece& piece : pieces) bytes += piece.end - piece.begin;
  return bytes;
}

class Search {
 public:
  explicit Search(const Plan& plan) : plan_(plan), uses_(plan), begins_(plan.instructions.size()) {
    const int end = static_cast<int>(plan.instructions.size());
    for (const ValueId id : plan.program.ids()) {
      if (uses_.root[id] != id || !lies_in_step(id) || uses_.last[id] < 0) continue;
      const int first = std::max(uses_.made_by[id], 0);
      if (first < end) begins_[index(first)].push_back(id);
    }
  }

  Fullest run() {
    const int end = static_cast<int>(plan_.instructions.size());
    for (int i = 0; i < end; ++i) {
      for (const ValueId id : begins_[index(i)]) {
        alive_.push_back(id);
        alive_bytes_ += bytes_of_value(id);
      }
      consider(i);
      std::erase_if(alive_, [&](ValueId id) {
        const bool ends = uses_.last[id] <= i;
        if (ends) alive_bytes_ -= bytes_of_value(id);
        return ends;
      });
    }
    return std::move(best_);
  }

 private:
  std::int64_t bytes_of_value(ValueId id) const { return num_bytes(plan_.program.type(id)); }

  bool lies_in_step(ValueId id) const {
    return plan_.offsets[id] >= plan_.step_begin && bytes_of_value(id) > 0;
  }

  /// Takes it if more is in use than at the best so far.
  void consider(int i) {
    const Instruction& instruction = plan_.instructions[index(i)];
    // Places that are used twice count twice.
    if (instruction.workspace_bytes + alive_bytes_ <= best_.bytes) return;
    std::vector<Piece> pieces;
    for (const ValueId id : alive_) {
      const std::int64_t begin = plan_.offsets[id];
      pieces.push_back({begin, begin + bytes_of_value(id), id});
    }
    if (instruction.workspace_bytes > 0) {
      const std::int64_t begin = instruction.workspace;
      pieces.push_back({begin, begin + instruction.workspace_bytes, kNoValue});
    }
    const std::vector<Piece> apart = without_overlaps(std::move(pieces));
    if (bytes_of(apart) <= best_.bytes) return;
    best_ = {.instruction = i, .bytes = bytes_of(apart), .values = {}};
    for (const Piece& piece : apart) {
      best_.values.push_back({piece.value, piece.end - piece.begin});
    }
    std::ranges::stable_sort(best_.values, std::greater<>(), &Fullest::Held::bytes);
  }

  const Plan& plan_;
  Uses uses_;
  std::vector<std::vector<ValueId>> begins_;  ///< by instruction
  std::vector<ValueId> alive_;
  std::int64_t alive_bytes_ = 0;
  Fullest best_;
};

}  // namespace

Fullest fullest_moment(const Plan& plan) { return Search(plan).run(); }

}  // namespace meshwork
