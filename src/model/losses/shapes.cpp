#include <numeric>

#include "model/arguments.h"
#include "model/losses/loss.h"
#include "ops/ops.h"

namespace meshwork {
namespace {

Shape without_last(Shape shape) {
  shape.pop_back();
  return shape;
}

Shape with_one(Shape shape) {
  shape.resize(shape.size() + 1, 1);
  return shape;
}

[[noreturn]] void fail_shapes(const Comparison& c, const std::string& way_out) {
  fail_at(c.at, "{}: labels are {} per sample, predictions {}; {}", c.what,
          sample_shape(c.b.shape(c.labels)), sample_shape(c.b.shape(c.predictions)), way_out);
}

}  // namespace

Matched match_shapes(const Comparison& c) {
  GraphBuilder& b = c.b;
  Shape y = b.shape(c.labels);
  Shape p = b.shape(c.predictions);
  if (y.size() == p.size() + 1 && y.back() == 1) {
    if (p.size() == 1)
      p = with_one(p);
    else
      y = without_last(y);
  } else if (p.size() == y.size() + 1 && p.back() == 1) {
    if (y.size() == 1)
      y = with_one(y);
    else
      p = without_last(p);
  }
  if (y != p) {
    fail_shapes(c, y.size() == 1 ? std::string("give the last layer 1 unit")
                   : y.size() == 2
                       ? fmt::format("give the last layer {} units", y.back())
                       : std::string("let the last layer give the shape of the labels"));
  }
  if (y.size() == 1) y = with_one(y);
  return {ops::reshape(b, ops::cast(b, c.labels, DType::kFloat32), y),
          ops::reshape(b, c.predictions, y)};
}

Matched match_rows(const Comparison& c, std::string_view says) {
  const Matched matched = match_shapes(c);
  const Shape& shape = c.b.shape(matched.predictions);
  if (shape.size() == 2) return matched;
  fail_at(c.at, "{}: {} of each sample, not {}", c.what, says, sample_shape(shape));
}

ValueId class_labels(const Comparison& c) {
  GraphBuilder& b = c.b;
  Shape y = b.shape(c.labels);
  const Shape p = b.shape(c.predictions);
  if (p.size() < 2 || p.back() == 1) {
    fail_shapes(c,
                "give the last layer one unit per class, or take BinaryCrossentropy and "
                "binary_accuracy");
  }
  if (y == p) {
    fail_shapes(c,
                "it wants one class number per sample; for one-hot labels take "
                "CategoricalCrossentropy and categorical_accuracy");
  }
  if (y.size() == p.size() && y.back() == 1) y = without_last(y);
  if (y != without_last(p)) fail_shapes(c, "it wants one class number per row of predictions");
  return ops::reshape(b, ops::cast(b, c.labels, DType::kInt32), y);
}

ValueId one_hot_labels(const Comparison& c) {
  GraphBuilder& b = c.b;
  const Shape& y = b.shape(c.labels);
  const Shape& p = b.shape(c.predictions);
  if (y != p) {
    if (label_kind(y, p) == LabelKind::kSparse) {
      fail_shapes(c,
                  "it wants one-hot labels; for class numbers take "
                  "SparseCategoricalCrossentropy and sparse_categorical_accuracy");
    }
    if (y.size() < p.size()) {
      fail_shapes(c,
                  "it wants one-hot labels; for one probability per sample take "
                  "BinaryCrossentropy and binary_accuracy");
    }
    fail_shapes(c, fmt::format("give the last layer {} units", y.back()));
  }
  return ops::cast(b, c.labels, DType::kFloat32);
}

ValueId sum_all(GraphBuilder& b, ValueId x) {
  std::vector<std::int64_t> axes(b.shape(x).size());
  std::iota(axes.begin(), axes.end(), 0);
  return ops::reduce_sum(b, x, std::move(axes), false);
}

ValueId mean_last(GraphBuilder& b, ValueId x) {
  return ops::reduce_mean(b, x, {static_cast<std::int64_t>(b.shape(x).size()) - 1}, false);
}

LabelKind label_kind(const Shape& labels, const Shape& predictions) {
  if (predictions.back() == 1) return LabelKind::kBinary;
  const bool column = labels.back() == 1 && predictions.back() > 1;
  return labels.size() < predictions.size() || column ? LabelKind::kSparse : LabelKind::kOneHot;
}

}  // namespace meshwork
