#include "data/formats/window_source.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace meshwork::data {
namespace {

SourceInfo info_of(const Stretch& stretch, const Windows& windows) {
  const auto& [context, stride, shift] = windows;
  MW_CHECK(context > 0 && stride > 0 && (shift == 0 || shift == 1) && stretch.count > context);
  SourceInfo info = stretch.tokens->info();
  info.shape = {(stretch.count - context - 1) / stride + 1, context};
  checked_elements(info.name, info.shape, size_of(info.dtype));
  return info;
}

class WindowSource : public Source {
 public:
  WindowSource(const Stretch& stretch, const Windows& windows)
      : Source(info_of(stretch, windows)), stretch_(stretch), windows_(windows) {}

  const Source& holder() const override { return *stretch_.tokens; }
  std::int64_t kept_bytes() const override { return holder().kept_bytes(); }

  SamplePlace place_of(std::int64_t sample) const override {
    SamplePlace place = holder().place_of(token_of(sample));
    place.what = "window from token";
    return place;
  }

 private:
  /// The first token of a sample.
  std::int64_t token_of(std::int64_t sample) const {
    return stretch_.first + sample * windows_.stride + windows_.shift;
  }

  void fetch(std::int64_t begin, std::int64_t count, std::byte* out) const override {
    while (count > 0) {
      const std::int64_t place = begin % windows_.context;
      const std::int64_t some = std::min(count, windows_.context - place);
      holder().read(token_of(begin / windows_.context) + place, some, out);
      begin += some;
      count -= some;
      out += some * item();
    }
  }

  Stretch stretch_;
  Windows windows_;
};

}  // namespace

std::unique_ptr<Source> cut_windows(const Stretch& stretch, const Windows& windows) {
  return std::make_unique<WindowSource>(stretch, windows);
}

}  // namespace meshwork::data
