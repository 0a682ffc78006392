// Samples of training batches that are mixed with one another.
#include "data/augment/mix.h"

#include <doctest/doctest.h>

#include <cmath>
#include <numeric>

#include "config/yaml.h"
#include "data/files.h"

using namespace meshwork;
using namespace meshwork::test;
using data::Box;
using data::Mixture;

namespace {

using Floats = std::vector<float>;

constexpr std::int64_t kSide = 8;

/// Image i is all 10 i, and of class i.
data::Dataset plain_images(const TempDir& dir, std::int64_t samples, const std::string& mix,
                           const std::string& keys = ", y: {one_hot: 20}") {
  Floats x;
  std::vector<std::int32_t> y;
  for (std::int64_t i = 0; i < samples; ++i) {
    x.insert(x.end(), kSide * kSide, static_cast<float>(10 * i));
    y.push_back(static_cast<std::int32_t>(i));
  }
  const std::string count = std::to_string(samples);
  dir.write("x.npy", npy(npy_dict("<f4", "(" + count + ", 8, 8)"), bytes_of(x)));
  dir.write("y.npy", npy(npy_dict("<i4", "(" + count + ",)"), bytes_of(y)));
  return dataset(dir,
                 "{format: npy, splits: {train: {x: x.npy, y: y.npy}}, mix: " + mix + keys + "}");
}

/// What a training batch holds of a device that has the rows [begin, begin + rows).
struct Read {
  Floats x, y;
};

Read read(const data::Split& split, data::Loader& loader) {
  const data::Batch& batch = loader.next();
  Read read;
  for (Floats* to : {&read.x, &read.y}) {
    const auto& field = batch.fields[to == &read.x ? 0 : 1];
    REQUIRE(field.dtype == DType::kFloat32);
    to->assign(field.as<float>(), field.as<float>() + num_elements(field.part.shape));
  }
  REQUIRE(split.fields.size() == 2);
  return read;
}

/// The classes of a label that have a share, and these.
std::vector<std::pair<std::int64_t, float>> shares(const Floats& labels, std::int64_t row) {
  std::vector<std::pair<std::int64_t, float>> found;
  for (std::int64_t c = 0; c < 20; ++c) {
    const float share = labels[static_cast<std::size_t>(20 * row + c)];
    if (share != 0) found.emplace_back(c, share);
  }
  return found;
}

std::span<const float> image(const Read& read, std::int64_t row) {
  return std::span(read.x).subspan(static_cast<std::size_t>(row * kSide * kSide), kSide * kSide);
}

Mixture draw(const std::string& op, std::int64_t place, std::int64_t batch_first = 0) {
  const data::Mixer mixer(data::read_mix(config::parse_yaml(op, "m.yaml")), {kSide, kSide, 3}, 5);
  return mixer.draw({0, place, batch_first});
}

}  // namespace

TEST_CASE("shares of MixUp are draws of a beta distribution") {
  for (const double alpha : {0.05, 0.2, 1.0, 3.0}) {
    CAPTURE(alpha);
    constexpr int kDraws = 20000;
    double sum = 0, squares = 0, least = 1, most = 0;
    for (int i = 0; i < kDraws; ++i) {
      const double share = data::DrawStream(77, 3, i).beta(alpha);
      sum += share;
      squares += share * share;
      least = std::min(least, share);
      most = std::max(most, share);
    }
    const double mean = sum / kDraws, variance = squares / kDraws - mean * mean;
    CHECK(mean == doctest::Approx(0.5).epsilon(0.02));
    CHECK(variance == doctest::Approx(1 / (4 * (2 * alpha + 1))).epsilon(0.03));
    CHECK(least >= 0);
    CHECK(most <= 1);
  }
  // So small that u^(1/alpha) is no number: nearly one or the other.
  int first = 0;
  for (int i = 0; i < 1000; ++i) {
    const double share = data::DrawStream(77, 3, i).beta(1e-6);
    CHECK((share < 1e-3 || share > 1 - 1e-3));
    first += share > 0.5 ? 1 : 0;
  }
  CHECK(std::abs(first - 500) < 60);
}

TEST_CASE("the box of CutMix lies in the image, and its area is the other's share") {
  double alphas = 0;
  for (std::int64_t i = 0; i < 500; ++i) {
    const Mixture mixture = draw("CutMix", i);
    REQUIRE(mixture.box.has_value());
    const Box box = *mixture.box;
    CHECK((box.x0 >= 0 && box.x1 <= kSide && box.y0 >= 0 && box.y1 <= kSide));
    CHECK(box.x1 - box.x0 == doctest::Approx(box.y1 - box.y0));
    const float area = (box.x1 - box.x0) * (box.y1 - box.y0) / (kSide * kSide);
    CHECK(mixture.share == doctest::Approx(1 - area).epsilon(1e-4));
    alphas += mixture.share;
  }
  CHECK(alphas / 500 == doctest::Approx(0.5).epsilon(0.1));
  CHECK(draw("CutMix", 3, 0).share != draw("CutMix", 3, 64).share);  // alpha is the batch's
}

TEST_CASE("a mixture is a weighted sum, or has the pixels of a box") {
  const data::ImageShape shape{2, 3, 2};
  Floats a(12, 1), b(12), to(12);
  std::iota(b.begin(), b.end(), 10.0F);
  Mixture{.share = 0.25F, .box = {}}.mix(shape, a.data(), b.data(), to.data());
  CHECK(to[4] == 0.25F + 0.75F * 14);
  Mixture{.share = 0.5F, .box = Box{.y0 = 0.5F, .y1 = 2, .x0 = 0.5F, .x1 = 2.5F}}.mix(
      shape, a.data(), b.data(), to.data());
  CHECK(to == Floats{1, 1, 1, 1, 1, 1, 1, 1, 18, 19, 20, 21});
}

TEST_CASE("images of a batch and their labels are mixed alike, the last one with the first") {
  const TempDir dir;
  for (const char* op :
       {"{MixUp: {alpha: 1}}", "{CutMix: {}}", "[MixUp: {alpha: 1}, CutMix: {}]"}) {
    CAPTURE(op);
    const data::Dataset opened = plain_images(dir, 12, op);
    const data::Split& split = opened.split("train");
    data::Loader loader(split, {.batch_size = 7, .seed = 3, .augment = true},
                        whole_parts(split, true));
    for (const std::int64_t size : {7, 5}) {  // the pass has 12 samples
      const std::int64_t batch_first = size == 7 ? 0 : 7;
      const Read batch = read(split, loader);
      for (std::int64_t i = 0; i < size; ++i) {
        const std::int64_t own = batch_first + i, other = batch_first + size - 1 - i;
        const auto label = shares(batch.y, i);
        float total = 0;
        for (const auto& [index, share] : label) {
          CHECK((index == own || index == other));
          total += share;
        }
        CHECK(total == doctest::Approx(1));
        const auto pixels = image(batch, i);
        if (std::string(op) == "{MixUp: {alpha: 1}}") {
          float value = 0;
          for (const auto& [index, share] : label) value += share * static_cast<float>(10 * index);
          CHECK(pixels[0] == doctest::Approx(value).epsilon(1e-4));
          CHECK(pixels[63] == pixels[0]);
        } else if (std::string(op) == "{CutMix: {}}") {
          for (const float pixel : pixels) {
            CHECK(
                (pixel == static_cast<float>(10 * own) || pixel == static_cast<float>(10 * other)));
          }
        }
      }
    }
  }
}

TEST_CASE("mixed batches are the same in any parts, and shuffled ones by the order of the pass") {
  const TempDir dir;
  const data::Dataset opened = plain_images(dir, 9, "[MixUp, CutMix]");
  const data::Split& split = opened.split("train");
  const data::LoaderOptions options{.batch_size = 5, .shuffle = true, .seed = 4, .augment = true};
  data::Loader whole(split, options, whole_parts(split, true));
  const auto part = [&](std::int64_t begin, std::int64_t end) {
    return [=, all = whole_parts(split, true)](std::size_t field, std::int64_t batch) {
      data::LocalPart part = all(field, batch);
      part.region.offset[0] = std::min(begin, batch);
      part.shape[0] = std::min(end, batch) - part.region.offset[0];
      return part;
    };
  };
  data::Loader first(split, options, part(0, 2)), second(split, options, part(2, 5));
  bool mixes = false;
  for (int step = 0; step < 4; ++step) {
    const Read all = read(split, whole), front = read(split, first), back = read(split, second);
    Read joined = front;
    joined.x.insert(joined.x.end(), back.x.begin(), back.x.end());
    joined.y.insert(joined.y.end(), back.y.begin(), back.y.end());
    CHECK(joined.x == all.x);
    CHECK(joined.y == all.y);
    mixes = mixes || shares(all.y, 0).size() == 2;
  }
  CHECK(mixes);
}

TEST_CASE("what is no training batch is not mixed") {
  const TempDir dir;
  const data::Dataset opened = plain_images(dir, 4, "MixUp", ", y: {one_hot: 20, dtype: int32}");
  const data::Split& split = opened.split("train");
  CHECK(floats(split, "x")[64] == 10);
  CHECK(floats(split, "y")[21] == 1);
}

TEST_CASE("a mix that cannot be is refused") {
  const TempDir dir;
  const auto refuse = [&](const std::string& mix, const std::string& keys = ", y: {one_hot: 20}") {
    return error_of([&] { plain_images(dir, 4, mix, keys).describe(); }, ExitCode::kConfiguration);
  };
  CHECK(contains(refuse("MixUp", ""), "mix: a sample gets parts of two labels; give 'y' one_hot"));
  CHECK(contains(refuse("MixOp"), "there is no mixing operation 'MixOp'; nearest: 'MixUp'"));
  CHECK(contains(refuse("{MixUp: {alpha: 0}}"), "mix: MixUp: alpha is 0; give more than 0"));
  CHECK(contains(refuse("{CutMix: {factor: 2}}"), "factor"));
  CHECK(contains(refuse("{CutMix: {alpha: 2}}"), "'alpha'"));
  CHECK(contains(refuse("[]"), "mix has no operation"));
  CHECK(
      contains(refuse("MixUp", ", x: {dtype: int32}, y: {one_hot: 20}"), "not for whole numbers"));
  CHECK(contains(refuse("MixUp", ", y: {one_hot: 20}, timeseries: {sequence_length: 2}"),
                 "not for a timeseries"));
  CHECK(contains(refuse("CutMix", ", x: {shape: [64]}, y: {one_hot: 20}"),
                 "mix: CutMix is for images, but samples have shape [64]"));
}
