#include "data/one_hot.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace meshwork::data {
namespace {

SourceInfo with_classes(SourceInfo info, std::int64_t classes) {
  info.shape.push_back(classes);
  checked_elements(info.name, info.shape, sizeof(float));
  return info;
}

class OneHotSource : public Source {
 public:
  OneHotSource(std::unique_ptr<Source> source, const Conversion& labels, std::int64_t classes)
      : Source(with_classes(source->info(), classes)),
        source_(std::move(source)),
        labels_(labels),
        classes_(classes) {}

  void read(std::int64_t begin, std::int64_t count, const Conversion& conversion,
            void* out) const override {
    if (conversion.dtype == DType::kInt32) {
      fill(begin, count, static_cast<std::int32_t*>(out));
    } else {
      fill(begin, count, static_cast<float*>(out));
    }
  }

  void prepare() const override { source_->prepare(); }
  bool reads_memory() const override { return source_->reads_memory(); }

 private:
  /// [.., classes] flattened: element i belongs to label i / classes.
  template <class T>
  void fill(std::int64_t begin, std::int64_t count, T* out) const {
    std::fill_n(out, count, T{0});
    const std::int64_t end = begin + count;
    for (std::int64_t first = begin - begin % classes_; first < end; first += classes_) {
      const std::int64_t hot = first + label_at(first / classes_);
      if (hot >= begin && hot < end) out[hot - begin] = T{1};
    }
  }

  std::int64_t label_at(std::int64_t index) const {
    std::int32_t label = 0;
    source_->read(index, 1, labels_, &label);
    if (label >= 0 && label < classes_) return label;
    const Shape strides = row_major_strides(source_->info().shape);
    fail(ExitCode::kFile,
         "{}: sample {}: label {} is not in 0..{}; give one_hot the number of classes", info().name,
         index / strides[0], label, classes_ - 1);
  }

  std::unique_ptr<Source> source_;
  Conversion labels_;
  std::int64_t classes_;
};

}  // namespace

std::unique_ptr<Source> one_hot(std::unique_ptr<Source> source, const Conversion& labels,
                                std::int64_t classes) {
  return std::make_unique<OneHotSource>(std::move(source), labels, classes);
}

}  // namespace meshwork::data
