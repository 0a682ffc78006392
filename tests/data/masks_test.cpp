#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/rng.h"
#include "data/augment/augmenter.h"
#include "data/augmented.h"
#include "data/files.h"
#include "data/image_files.h"
#include "data/image_masks.h"
#include "data/loader.h"
#include "support/npz.h"

using namespace meshwork;
using namespace meshwork::test;

namespace {

const std::string kFixtures = "tests/fixtures/images/cases";

constexpr std::int64_t kHeight = 6, kWidth = 8;

/// Images [6, 8, 2] of which the first channel is the mask [6, 8] of labels 0 to 4.
void write_pairs(const TempDir& dir, int samples) {
  std::string images, masks;
  for (int i = 0; i < samples; ++i) {
    for (std::uint64_t j = 0; j < kHeight * kWidth; ++j) {
      const auto drawn = philox(5, static_cast<std::uint64_t>(i), j);
      masks += static_cast<char>(drawn[0] % 5);
      images += {masks.back(), static_cast<char>(drawn[1] % 100)};
    }
  }
  dir.write("x", idx(8, {samples, kHeight, kWidth, 2}, images));
  dir.write("y", idx(8, {samples, kHeight, kWidth}, masks));
}

/// Nothing in them mixes pixels, but for the contrast of colours, which leaves masks alone.
const std::string kMoves =
    "[RandomFlip: {mode: horizontal}, RandomCrop: {padding: 2, fill_value: 3}, "
    "RandomRotation: {factor: 0.2, interpolation: nearest}, "
    "RandomTranslation: {height_factor: 0.3, width_factor: 0.2, fill_mode: wrap, interpolation: "
    "nearest}, "
    "RandomZoom: {height_factor: 0.3, fill_mode: nearest, interpolation: nearest}, "
    "RandomShear: {x_factor: 0.3, fill_mode: constant, fill_value: 3, interpolation: nearest}, "
    "RandomPerspective: {factor: 1, fill_value: 3, interpolation: nearest}]";

data::Dataset pairs(const TempDir& dir, const std::string& augment, const std::string& y,
                    const std::string& rest = "") {
  return dataset(dir,
                 "{format: idx, splits: {train: {x: x, y: y}}, x: {augment: " + augment +
                     "}, y: {" + y + "}" + rest + "}",
                 4);
}

std::string bad(const std::string& augment, const std::string& y, const std::string& rest = "") {
  const TempDir dir;
  write_pairs(dir, 2);
  return error_of([&] { pairs(dir, augment, y, rest).describe(); }, ExitCode::kConfiguration);
}

data::Loader training(const data::Split& split) {
  return {split,
          {.batch_size = 5, .shuffle = true, .seed = 4, .augment = true},
          whole_parts(split, true)};
}

/// "d.yaml:1:2" before it is left out.
bool ends(const std::string& text, const std::string& end) { return text.ends_with(end); }

}  // namespace

TEST_CASE("masks are moved as Keras moves segmentation masks") {
  const config::Value cases = config::load_yaml(kFixtures + ".yaml");
  int compared = 0;
  for (const config::Value& known : cases.list) {
    const config::Value::Entry* mask = known.find("mask");
    if (mask == nullptr) continue;
    CAPTURE(config::to_yaml(known));
    const HostTensor from = read_npz(kFixtures + ".npz", mask->value.scalar);
    const auto ops = data::ops_for_masks(data::read_augment(known.find("augment")->value), 3.0F);
    const Shape& shape = from.type.shape;
    HostTensor to = from;
    ops.at(0).apply({shape[0], shape[1], shape[2]}, {0.25F, 1, 1, 1}, from.as<float>().data(),
                    to.as<float>().data());
    CHECK(difference(to, read_npz(kFixtures + ".npz", known.find("result")->value.scalar), 0) ==
          "");
    ++compared;
  }
  CHECK(compared == 27);
}

TEST_CASE("a mask goes where the pixels of its image go") {
  const TempDir dir;
  write_pairs(dir, 7);
  const data::Dataset opened = pairs(dir, kMoves, "mask_of: x, fill_value: 3");
  const data::Split& train = opened.split("train");
  CHECK(train.fields[1].dtype == DType::kInt32);
  data::Loader loader = training(train);
  int moved = 0;
  for (int step = 0; step < 8; ++step) {
    const data::Batch& batch = loader.next();
    REQUIRE(batch.fields[1].dtype == DType::kInt32);
    for (std::int64_t i = 0; i < batch.size * kHeight * kWidth; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const auto pixel = static_cast<std::int32_t>(batch.fields[0].as<float>()[2 * at]);
      REQUIRE(batch.fields[1].as<std::int32_t>()[at] == pixel);
      moved += batch.fields[0].as<float>()[2 * at + 1] == 3 ? 1 : 0;
    }
  }
  CHECK(moved > 20);  // pixels from beyond the edge

  // What reads without augmentation finds the labels as they are stored.
  data::Loader plain(train, {.batch_size = 7, .seed = 4}, whole_parts(train));
  CHECK(plain.next().fields[1].as<std::int32_t>()[6] == 6);  // a row of the source
}

TEST_CASE("operations that change colours leave masks alone, random choices among both do not") {
  const TempDir dir;
  write_pairs(dir, 4);
  const auto masks = [&](const std::string& augment) {
    const data::Dataset opened = pairs(dir, augment, "mask_of: x, dtype: float32");
    data::Loader loader = training(opened.split("train"));
    const data::Batch& batch = loader.next();
    const float* begin = batch.fields[1].as<float>();
    return std::vector<float>(begin, begin + 4 * kHeight * kWidth);
  };
  const std::string flip = "RandomFlip: {mode: vertical, seed: 9}";
  const std::string brightness = "RandomBrightness: {factor: 0.5, value_range: [0, 100]}";
  CHECK(masks("[" + flip + ", " + brightness + "]") == masks("[" + flip + "]"));
  CHECK(masks("[" + brightness + ", " + flip + "]") != masks("[" + flip + "]"));  // other draws

  // RandAugment draws one of eleven: of these three move pixels.
  int moves = 0;
  for (int i = 0; i < 200; ++i) {
    const std::vector<float> mask = counting(12);
    std::vector<float> to(12);
    const auto ops = data::ops_for_masks(
        ops_of("RandAugment: {value_range: [0, 12], num_ops: 1, factor: [0.5, 0.5]}"), 0);
    ops.at(0).apply({3, 4, 1}, draws_at(static_cast<std::uint64_t>(i)), mask.data(), to.data());
    moves += to == mask ? 0 : 1;
    for (const float label : to) CHECK(label == std::floor(label));
  }
  CHECK(std::abs(moves - 200 * 3 / 11) < 25);
}

TEST_CASE("a device gets the tile of the moved mask, as of the image") {
  const TempDir dir;
  write_pairs(dir, 7);
  const data::Dataset opened = pairs(dir, kMoves, "mask_of: x, one_hot: 5, fill_value: 3");
  const data::Split& train = opened.split("train");
  const auto tile = [whole = whole_parts(train, true)](std::size_t field, std::int64_t batch) {
    data::LocalPart part = whole(field, batch);
    part.region.offset[1] = 2;
    part.shape[1] = 3;
    part.region.offset[2] = 5;
    part.shape[2] = 3;
    return part;
  };
  const data::LoaderOptions options{.batch_size = 3, .shuffle = true, .seed = 4, .augment = true};
  data::Loader all(train, options, whole_parts(train, true)), some(train, options, tile);
  for (int step = 0; step < 4; ++step) {
    const data::Batch &whole = all.next(), &part = some.next();
    for (std::size_t f = 0; f < 2; ++f) {
      const data::FieldBatch &from = whole.fields[f], &to = part.fields[f];
      bool same = true;
      for_each_run(to.part.region, to.part.shape, [&](const Run& run) {
        same = same &&
               std::equal(from.as<float>() + run.global, from.as<float>() + run.global + run.count,
                          to.as<float>() + run.local);
      });
      CHECK(same);
    }
  }
}

TEST_CASE("masks of one-hot labels become vectors after they are moved") {
  const TempDir dir;
  write_pairs(dir, 5);
  const auto batch_of = [&](const std::string& y) {
    const data::Dataset opened = pairs(dir, kMoves, y + ", mask_of: x, fill_value: 2");
    const data::Split& train = opened.split("train");
    data::Loader loader = training(train);
    const data::FieldBatch& batch = loader.next().fields[1];
    std::vector<float> values;
    for (std::int64_t i = 0; i < num_elements(batch.part.shape); ++i) {
      values.push_back(batch.dtype == DType::kInt32
                           ? static_cast<float>(batch.as<std::int32_t>()[i])
                           : batch.as<float>()[i]);
    }
    return values;
  };
  const std::vector<float> labels = batch_of("dtype: int32");
  const std::vector<float> vectors = batch_of("one_hot: 6");
  REQUIRE(vectors.size() == 6 * labels.size());
  for (std::size_t i = 0; i < labels.size(); ++i) {
    for (std::size_t k = 0; k < 6; ++k) {
      REQUIRE(vectors[6 * i + k] == (labels[i] == static_cast<float>(k) ? 1.F : 0.F));
    }
  }
  // Scaled: 0, 2, .. where the label was 0, 1, ..; what is filled in is the label itself.
  const std::vector<float> doubled = batch_of("scale: 2");
  for (std::size_t i = 0; i < labels.size(); ++i) {
    REQUIRE((doubled[i] == 2 * labels[i] || (labels[i] == 2 && doubled[i] == 2)));
  }
}

TEST_CASE("what moves and nobody says whether masks do is an error, and so is what does not fit") {
  const std::string flip = "[RandomFlip: {mode: horizontal}]";
  CHECK(
      ends(bad(flip, ""),
           "field 'y' has the height and width of 'x', whose pixels RandomFlip moves: to move "
           "those of 'y' alike, give it mask_of: x; to leave them where they are, mask_of: none"));
  const TempDir dir;
  write_pairs(dir, 2);
  const std::string undescribed =
      "{format: idx, splits: {train: {x: x, y: y}}, x: {augment: " + flip + "}}";
  CHECK(
      contains(error_of([&] { dataset(dir, undescribed, 4).describe(); }, ExitCode::kConfiguration),
               ":1:23: field 'y' has the height and width of 'x'"));
  CHECK(bad(flip, "mask_of: none").empty());
  CHECK(bad("[RandomBrightness: {factor: 0.1, value_range: [0, 255]}]", "").empty());
  CHECK(ends(bad(flip, "mask_of: z"),
             "field 'y': mask_of must name another field, not 'z'; known: 'x'"));
  CHECK(ends(bad(flip, "mask_of: y"),
             "field 'y': mask_of must name another field, not 'y'; known: 'x'"));
  CHECK(ends(bad(flip, "mask_of: x, augment: [RandomFlip: {mode: horizontal}]"),
             "field 'y' is a mask of 'x', for which there is no augment: it is moved as that is"));
  CHECK(ends(bad(flip, "mask_of: x, mean: 1"),
             "field 'y' is a mask of 'x', for which there is no mean"));
  CHECK(contains(bad(flip, "fill_value: 3"), "no key 'fill_value'"));
  CHECK(contains(bad(flip, "mask_of: x, shape: [8, 6]"),
                 "field 'y' is a mask of 'x', but its samples have shape [8, 6], and those of 'x' "
                 "[6, 8, 2]: height and width must be the same"));
  CHECK(contains(bad(flip, "mask_of: x, one_hot: 5, fill_value: 5"),
                 "field 'y': fill_value 5 is not in 0..4, the classes"));
  CHECK(contains(bad(flip, "mask_of: x, one_hot: 5", ", mix: CutMix"),
                 "mix: is for labels of samples, but 'y' has one for each pixel of 'x'"));
}

TEST_CASE("the label beyond the edge is one that the loss knows, or ignores") {
  const TempDir dir;
  write_pairs(dir, 2);
  const data::Dataset opened = pairs(dir, kMoves, "mask_of: x, fill_value: 255");
  data::Field field = opened.split("train").fields[1];
  data::check_fill_value(field);  // any number
  field.label_limit = 5;
  CHECK(contains(error_of([&] { data::check_fill_value(field); }, ExitCode::kConfiguration),
                 "field 'y': fill_value 255 is not in 0..4, the classes; take one of these, or a "
                 "label that the loss ignores (ignore_class)"));
  field.ignored_label = 255;
  data::check_fill_value(field);
}
