#include "data/formats/window_source.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "base/check.h"

namespace meshwork::data {
namespace {

SourceInfo info_of(const Stretch& stretch, const Windows& windows) {
  const auto& [context, stride, shift] = windows;
  MW_CHECK(context > 0 && stride > 0 && (shift == 0 || shift == 1) && stretch.count > context);
  SourceInfo info = stretch.row.tokens->info();
  info.shape = {(stretch.count - context - 1) / stride + 1, context};
  checked_elements(info.name, info.shape, size_of(info.dtype));
  return info;
}

class WindowSource : public Source {
 public:
  WindowSource(SourceInfo info, const Stretch& stretch, const Windows& windows)
      : Source(std::move(info)), stretch_(stretch), windows_(windows) {}

  const Source& holder() const override { return *stretch_.row.tokens; }
  std::int64_t kept_bytes() const override { return holder().kept_bytes(); }

  SamplePlace place_of(std::int64_t sample) const override {
    SamplePlace place = holder().place_of(token_of(sample));
    place.what = "window from token";
    return place;
  }

 protected:
  /// Elements [place, place + count) of a window whose first token, with the shift, is `first`.
  virtual void fill(std::int64_t first, std::int64_t place, std::int64_t count,
                    std::byte* out) const {
    holder().read(first + place, count, out);
  }

  const TokenRow& row() const { return stretch_.row; }

 private:
  /// The first token of a sample.
  std::int64_t token_of(std::int64_t sample) const {
    return stretch_.first + sample * windows_.stride + windows_.shift;
  }

  void fetch(std::int64_t begin, std::int64_t count, std::byte* out) const override {
    while (count > 0) {
      const std::int64_t place = begin % windows_.context;
      const std::int64_t some = std::min(count, windows_.context - place);
      fill(token_of(begin / windows_.context), place, some, out);
      begin += some;
      count -= some;
      out += some * item();
    }
  }

  Stretch stretch_;
  Windows windows_;
};

class LabelSource : public WindowSource {
 public:
  using WindowSource::WindowSource;

 private:
  void fill(std::int64_t first, std::int64_t place, std::int64_t count,
            std::byte* out) const override {
    constexpr std::int32_t kNone = -1;
    std::vector<std::int32_t> labels(static_cast<std::size_t>(count));
    std::vector<std::uint8_t> begins(labels.size());
    read_tokens(holder(), first + place, labels);
    row().starts(first + place, begins);
    for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = begins[i] != 0 ? kNone : labels[i];
    std::memcpy(out, labels.data(), labels.size() * sizeof(std::int32_t));
  }
};

/// Counts documents, or the tokens of each.
class CountSource : public WindowSource {
 public:
  CountSource(SourceInfo info, const Stretch& stretch, const Windows& windows, bool counts_tokens)
      : WindowSource(std::move(info), stretch, windows), counts_tokens_(counts_tokens) {}

 private:
  void fill(std::int64_t first, std::int64_t place, std::int64_t count,
            std::byte* out) const override {
    std::vector<std::uint8_t> begins(static_cast<std::size_t>(place + count));
    row().starts(first, begins);
    std::int32_t number = 0;
    for (std::int64_t i = 0; i < place + count; ++i) {
      const bool is_new = i > 0 && begins[static_cast<std::size_t>(i)] != 0;
      if (counts_tokens_) {
        number = is_new || i == 0 ? 0 : number + 1;
      } else {
        number += is_new ? 1 : 0;
      }
      if (i < place) continue;
      std::memcpy(out, &number, sizeof number);
      out += sizeof number;
    }
  }

  bool counts_tokens_;
};

}  // namespace

std::unique_ptr<Source> cut_windows(const Stretch& stretch, const Windows& windows) {
  return std::make_unique<WindowSource>(info_of(stretch, windows), stretch, windows);
}

std::unique_ptr<Source> cut_document_windows(const Stretch& stretch, const Windows& windows,
                                             DocumentField field) {
  MW_CHECK(stretch.row.starts != nullptr);
  SourceInfo info = info_of(stretch, windows);
  info.dtype = DType::kInt32;
  if (field == DocumentField::kLabels) {
    return std::make_unique<LabelSource>(std::move(info), stretch, windows);
  }
  info.vocabulary = nullptr;
  info.stays_whole = true;
  return std::make_unique<CountSource>(std::move(info), stretch, windows,
                                       field == DocumentField::kPositions);
}

}  // namespace meshwork::data
