#include "train/sequence.h"

#include <algorithm>

#include "base/check.h"

namespace meshwork {

Sequence::Sequence(std::vector<std::int32_t> prompt, std::int64_t context)
    : tokens_(std::move(prompt)),
      prompt_(std::ssize(tokens_)),
      context_(context),
      begin_(std::max<std::int64_t>(0, prompt_ - context)) {}

std::int64_t Sequence::kept_of(std::int64_t context) {
  return std::max<std::int64_t>(1, context / 2);
}

std::int64_t Sequence::waiting() const {
  const std::int64_t unread = std::ssize(tokens_) - begin_ - read_;
  return unread > 0 && read_ == context_ ? kept_of(context_) : unread;
}

Sequence::Piece Sequence::take(std::int64_t most) {
  MW_CHECK(waiting() > 0 && most > 0);
  if (read_ == context_) {
    begin_ = std::ssize(tokens_) - kept_of(context_);
    read_ = 0;
  }
  const std::int64_t count = std::min(most, waiting());
  const Piece piece{std::span(tokens_).subspan(static_cast<std::size_t>(begin_ + read_),
                                               static_cast<std::size_t>(count)),
                    read_};
  read_ += count;
  return piece;
}

}  // namespace meshwork
