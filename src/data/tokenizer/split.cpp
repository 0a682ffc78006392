#include "data/tokenizer/split.h"

namespace meshwork::data {
namespace {

/// The segments of a piece, of which neighbours become one where the fate of matches says so.
class Joiner {
 public:
  Joiner(MatchFate fate, const Piece& piece, const PieceSink& sink)
      : fate_(fate), piece_(piece), sink_(sink) {}

  void add(const Segment& segment) {
    if (joins(segment)) {
      const char* const begin = held_.data();
      held_ = {begin, static_cast<std::size_t>(segment.text.data() + segment.text.size() - begin)};
    } else {
      give();
      held_ = segment.text;
      is_held_ = true;
    }
    held_is_match_ = segment.is_match;
  }

  void give() {
    const bool is_dropped = fate_ == MatchFate::kRemoved && held_is_match_;
    if (is_held_ && !held_.empty() && !is_dropped) {
      const bool is_first = held_.data() == piece_.text.data();
      sink_({held_, piece_.begins_the_text && is_first});
    }
    is_held_ = false;
  }

 private:
  bool joins(const Segment& next) const {
    if (!is_held_) return false;
    switch (fate_) {
      case MatchFate::kMergedWithPrevious:
        return next.is_match && !held_is_match_;
      case MatchFate::kMergedWithNext:
        return held_is_match_ && !next.is_match;
      case MatchFate::kContiguous:
        return held_is_match_ == next.is_match;
      default:
        return false;
    }
  }

  MatchFate fate_;
  const Piece& piece_;
  const PieceSink& sink_;
  std::string_view held_;
  bool is_held_ = false;
  bool held_is_match_ = false;  ///< the last segment of it
};

}  // namespace

PreTokenizer split_at(Segments segments, MatchFate fate, bool inverts) {
  return [segments = std::move(segments), fate, inverts](const Piece& piece,
                                                         const PieceSink& sink) {
    Joiner joiner(fate, piece, sink);
    segments(piece.text, [&](const Segment& s) { joiner.add({s.text, s.is_match != inverts}); });
    joiner.give();
  };
}

}  // namespace meshwork::data
