#include "data/image/image_source.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "data/formats/file_bytes.h"
#include "data/image/shared_samples.h"

namespace meshwork::data {
namespace {

/// Memory in which one image is decoded.
struct Workspace {
  std::vector<std::byte> file;
  std::vector<std::byte> pixels;
  std::vector<float> resized;
};

/// Workspaces that wait for the next reader: as many as there were readers at a time.
class Workspaces {
 public:
  std::unique_ptr<Workspace> take() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) {
      idle_.reserve(++made_);
      return std::make_unique<Workspace>();
    }
    auto workspace = std::move(idle_.back());
    idle_.pop_back();
    return workspace;
  }

  void give_back(std::unique_ptr<Workspace> workspace) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(workspace));
  }

 private:
  std::mutex mutex_;
  std::size_t made_ = 0;
  std::vector<std::unique_ptr<Workspace>> idle_;
};

/// A workspace while one image is read.
class Borrowed {
 public:
  explicit Borrowed(Workspaces& owner) : owner_(owner), workspace_(owner.take()) {}
  ~Borrowed() { owner_.give_back(std::move(workspace_)); }
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;
  Workspace& operator*() { return *workspace_; }

 private:
  Workspaces& owner_;
  std::unique_ptr<Workspace> workspace_;
};

/// Decoded samples, each decoded by whoever needs it first.
class Cache {
 public:
  Cache(std::size_t samples, std::size_t sample_bytes)
      : sample_bytes_(sample_bytes),
        bytes_(HeapBytes::of_size(samples * sample_bytes)),
        states_(std::make_unique<std::atomic<State>[]>(samples)) {}

  /// The sample, which `decode` gives where it is not there. Waits where another thread decodes it.
  template <class Decode>
  const std::byte* get(std::size_t sample, const Decode& decode) {
    std::byte* const bytes = bytes_.data.get() + sample * sample_bytes_;
    while (!begin(sample, decode, bytes)) {
      if (states_[sample].load(std::memory_order_acquire) == State::kReady) break;
      states_[sample].wait(State::kTaken, std::memory_order_acquire);
    }
    return bytes;
  }

  /// Decodes the sample unless it is there, or another thread decodes it.
  template <class Decode>
  void prepare(std::size_t sample, const Decode& decode) {
    begin(sample, decode, bytes_.data.get() + sample * sample_bytes_);
  }

 private:
  enum class State : int { kEmpty, kTaken, kReady };

  template <class Decode>
  bool begin(std::size_t sample, const Decode& decode, std::byte* bytes) {
    State expected = State::kEmpty;
    if (!states_[sample].compare_exchange_strong(expected, State::kTaken)) return false;
    try {
      decode(bytes);
    } catch (...) {
      set(sample, State::kEmpty);
      throw;
    }
    set(sample, State::kReady);
    return true;
  }

  void set(std::size_t sample, State state) {
    states_[sample].store(state, std::memory_order_release);
    states_[sample].notify_all();
  }

  std::size_t sample_bytes_;
  HeapBytes bytes_;  // a large block takes memory page by page, as it is written
  std::unique_ptr<std::atomic<State>[]> states_;
};

Shape shape_of(const std::vector<std::string>& files, const ImageSize& size, ColorMode color) {
  Shape shape{static_cast<std::int64_t>(files.size()), size.height, size.width};
  if (color != ColorMode::kLabels) shape.push_back(channels_of(color));
  return shape;
}

class ImageSource : public Source {
 public:
  /// `name` is that of the folder; without `resize` all images have the size `size`.
  ImageSource(const std::string& name, std::vector<std::string> files, ColorMode color,
              const ImageSize& size, const std::optional<ResizeOptions>& resize,
              const OpenContext& context)
      : Source({name, shape_of(files, size, color),
                resize && color != ColorMode::kLabels ? DType::kFloat32 : DType::kUInt8}),
        files_(std::move(files)),
        color_(color),
        size_(size),
        resize_(resize),
        elements_(size.height * size.width * channels_of(color)),
        shared_(static_cast<std::size_t>(elements_ * item())) {
    checked_elements(name, info().shape, static_cast<std::size_t>(item()));
    if (context.keeps(bytes())) {
      cache_.emplace(files_.size(), static_cast<std::size_t>(elements_ * item()));
    }
  }

  bool decodes_samples() const override { return !cache_; }
  std::int64_t kept_bytes() const override { return cache_ ? bytes() : 0; }
  bool has_work() const override { return true; }
  void prepare(std::int64_t sample, int readers) const override {
    const auto number = static_cast<std::size_t>(sample);
    if (cache_) return cache_->prepare(number, decoder_of(number));
    shared_.prepare(sample, readers, decoder_of(number));
  }

 private:
  void fetch(std::int64_t begin, std::int64_t count, std::byte* out) const override {
    while (count > 0) {
      const std::int64_t sample = begin / elements_;
      const std::int64_t first = begin % elements_;
      const std::int64_t some = std::min(count, elements_ - first);
      fetch_part(static_cast<std::size_t>(sample), first, some, out);
      begin += some;
      count -= some;
      out += some * item();
    }
  }

  void fetch_part(std::size_t sample, std::int64_t first, std::int64_t count,
                  std::byte* out) const {
    const auto copy = [&](const std::byte* decoded) {
      std::copy_n(decoded + first * item(), count * item(), out);
    };
    if (cache_) return copy(cache_->get(sample, decoder_of(sample)));
    if (shared_.read(static_cast<std::int64_t>(sample), copy)) return;
    Borrowed workspace(workspaces_);
    copy(decode(sample, *workspace));
  }

  /// Writes the whole sample to some place.
  std::function<void(std::byte*)> decoder_of(std::size_t sample) const {
    return [this, sample](std::byte* to) {
      Borrowed workspace(workspaces_);
      std::copy_n(decode(sample, *workspace), elements_ * item(), to);
    };
  }

  /// The sample as elements; it lies in the workspace.
  const std::byte* decode(std::size_t sample, Workspace& workspace) const {
    const std::string& path = files_[sample];
    const File file = File::open(path);
    workspace.file.resize(file.size());
    file.read_at(workspace.file.data(), workspace.file.size(), 0);
    const ImageSize size = decode_image(path, workspace.file, color_, workspace.pixels);
    if (!resize_) {
      if (size == size_) return workspace.pixels.data();
      fail(ExitCode::kFile, "{}: {}, but it was {} before; do not change the data while it is read",
           path, to_string(size), to_string(size_));
    }
    workspace.resized.resize(static_cast<std::size_t>(elements_));
    resize(size, channels_of(color_), workspace.pixels.data(), *resize_, workspace.resized.data());
    if (color_ != ColorMode::kLabels) {
      return reinterpret_cast<const std::byte*>(workspace.resized.data());
    }
    workspace.pixels.resize(workspace.resized.size());
    std::ranges::transform(workspace.resized, workspace.pixels.begin(),
                           [](float label) { return static_cast<std::byte>(label); });
    return workspace.pixels.data();
  }

  std::vector<std::string> files_;
  ColorMode color_;
  ImageSize size_;
  std::optional<ResizeOptions> resize_;
  std::int64_t elements_;  ///< of a sample
  mutable Workspaces workspaces_;
  mutable std::optional<Cache> cache_;
  mutable SharedSamples shared_;
};

}  // namespace

std::unique_ptr<Source> make_image_source(const std::string& name, std::vector<std::string> files,
                                          ColorMode color, const ImageSize& size,
                                          const std::optional<ResizeOptions>& resize,
                                          const OpenContext& context) {
  return std::make_unique<ImageSource>(name, std::move(files), color, size, resize, context);
}

}  // namespace meshwork::data
