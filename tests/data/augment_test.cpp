#include "data/augment/augment.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "base/rng.h"
#include "config/yaml.h"
#include "data/augment/affine.h"
#include "data/augment/augmenter.h"
#include "data/augmented.h"
#include "data/files.h"
#include "data/image/resize.h"
#include "support/npz.h"

using namespace meshwork;
using namespace meshwork::test;
using data::ImageShape;

namespace {

const std::string kFixtures = "tests/fixtures/images/cases";

/// One list of numbers, or one for each operation that the entry stands for.
std::vector<data::Draws> draws_of(const config::Value& value) {
  if (value.list.empty() || value.list[0].is_scalar()) {
    data::Draws draws{};
    std::ranges::transform(value.list, draws.begin(), [](const config::Value& draw) {
      return static_cast<float>(draw.as_real("draws"));
    });
    return {draws};
  }
  std::vector<data::Draws> all;
  for (const config::Value& item : value.list) all.push_back(draws_of(item).at(0));
  return all;
}

}  // namespace

TEST_CASE("operations make of images what Keras makes of them") {
  const config::Value cases = config::load_yaml(kFixtures + ".yaml");
  int compared = 0;
  for (const config::Value& known : cases.list) {
    const config::Value::Entry* augment = known.find("augment");
    if (augment == nullptr || known.find("image") == nullptr) continue;
    CAPTURE(config::to_yaml(known));
    const auto array = [&](const char* key) {
      return read_npz(kFixtures + ".npz", known.find(key)->value.scalar);
    };
    const HostTensor image = array("image");
    const Shape& shape = image.type.shape;
    const auto ops = data::read_augment(augment->value);
    // Without draws factors have no width: all draws are one.
    std::vector<std::vector<data::Draws>> all{{{0, 1}}, {{0.3F, 0.7F}}, {{0.99F, 0.01F}}};
    if (const config::Value::Entry* draws = known.find("draws")) all = {draws_of(draws->value)};
    for (const std::vector<data::Draws>& draws : all) {
      HostTensor result = image;
      REQUIRE(draws.size() == ops.size());
      for (std::size_t i = 0; i < ops.size(); ++i) {
        const HostTensor from = result;
        ops[i].apply({shape[0], shape[1], shape[2]}, draws[i], from.as<float>().data(),
                     result.as<float>().data());
      }
      CHECK(difference(result, array("result"), 2e-6) == "");
    }
    ++compared;
  }
  CHECK(compared == 78);
}

TEST_CASE("images are resized as Keras resizes them") {
  const config::Value cases = config::load_yaml(kFixtures + ".yaml");
  int compared = 0;
  for (const config::Value& known : cases.list) {
    const config::Value::Entry* arguments = known.find("resize");
    if (arguments == nullptr) continue;
    CAPTURE(config::to_yaml(known));
    config::Reader keys(arguments->value, "resize");
    const Shape size = keys.require("size").as_shape("size");
    data::ResizeOptions options{.size = {size[0], size[1]}};
    options.interpolation = data::read_interpolation(keys);
    options.crop_to_aspect_ratio = keys.get("crop_to_aspect_ratio", false);
    const HostTensor bytes = read_npz(kFixtures + ".npz", "bytes");
    std::vector<std::byte> pixels;
    for (const std::int32_t value : bytes.as<std::int32_t>()) pixels.push_back(std::byte(value));
    const Shape& from = bytes.type.shape;
    HostTensor result = host_tensor({DType::kFloat32, {size[0], size[1], from[2]}});
    data::resize({from[0], from[1]}, from[2], pixels.data(), options, result.as<float>().data());
    CHECK(difference(result, read_npz(kFixtures + ".npz", known.find("result")->value.scalar),
                     2e-6) == "");
    ++compared;
  }
  CHECK(compared == 8);
}

TEST_CASE("flips: one coin for an image") {
  const ImageShape shape{2, 3, 2};
  const std::vector<float> image = counting(12);
  const std::vector<float> horizontal{5, 6, 3, 4, 1, 2, 11, 12, 9, 10, 7, 8};
  const std::vector<float> vertical{7, 8, 9, 10, 11, 12, 1, 2, 3, 4, 5, 6};
  const std::vector<float> both{11, 12, 9, 10, 7, 8, 5, 6, 3, 4, 1, 2};
  CHECK(apply("RandomFlip: {mode: horizontal}", shape, image, {0.5F}) == horizontal);
  CHECK(apply("RandomFlip: {mode: horizontal}", shape, image, {0.51F}) == image);
  CHECK(apply("random_flip: {mode: vertical}", shape, image, {0.F}) == vertical);
  CHECK(apply("RandomFlip", shape, image, {0.2F}) == both);
  CHECK(apply("RandomFlip", shape, image, {0.7F}) == image);
}

TEST_CASE("a crop keeps the size and shifts by at most the padding") {
  const ImageShape shape{3, 2, 1};
  const std::vector<float> image = counting(6);  // rows 1 2, 3 4, 5 6
  const std::string crop = "RandomCrop: {padding: 1}";
  CHECK(apply(crop, shape, image, {0.5F, 0.5F}) == image);
  CHECK(apply(crop, shape, image, {0.F, 0.F}) == std::vector<float>{0, 0, 0, 1, 0, 3});
  CHECK(apply(crop, shape, image, {0.999F, 0.4F}) == std::vector<float>{3, 4, 5, 6, 0, 0});
  CHECK(apply("RandomCrop: {padding: [0, 1], fill_value: -2.5}", shape, image, {0.F, 0.99F}) ==
        std::vector<float>{2, -2.5F, 4, -2.5F, 6, -2.5F});
  CHECK(apply("RandomCrop: {padding: [2, 0], fill_mode: reflect}", shape, image, {0.F, 0.F}) ==
        std::vector<float>{3, 4, 1, 2, 1, 2});
  CHECK(apply("RandomCrop: {padding: 0}", shape, image, {0.9F, 0.9F}) == image);
  // Far outside of the image there is nothing but the fill value.
  CHECK(apply("RandomCrop: {padding: 2147483647}", shape, image, {0.F, 0.F}) ==
        std::vector<float>(6, 0.F));
  std::map<std::vector<float>, int> counts;
  for (std::uint64_t i = 0; i < 900; ++i) {
    ++counts[apply(crop, shape, image, {uniform_at(5, 0, 2 * i), uniform_at(5, 0, 2 * i + 1)})];
  }
  CHECK(counts.size() == 9);
  for (const auto& entry : counts) CHECK((entry.second > 60 && entry.second < 140));
}

TEST_CASE("one contrast factor goes both ways") {
  const std::string contrast = "RandomContrast: {factor: 0.5, value_range: [0, 8]}";
  CHECK(apply(contrast, {1, 2, 1}, {2, 6}, {0.F}) == std::vector<float>{3, 5});
  CHECK(apply(contrast, {1, 2, 1}, {2, 6}, {0.75F}) == std::vector<float>{1.5F, 6.5F});
}

TEST_CASE("a rectangle is erased, as often as it should be") {
  const ImageShape shape{4, 4, 1};
  const std::vector<float> image = counting(16);
  const std::string half = "RandomErasing: {scale: [0.25, 0.25], fill_value: 0}";
  CHECK(apply(half, shape, image, {0.F, 0.F, 0.F, 0.F}) ==
        std::vector<float>{0, 0, 3, 4, 0, 0, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16});
  CHECK(apply(half, shape, image, {0.F, 0.F, 0.99F, 0.5F}) ==
        std::vector<float>{1, 2, 3, 4, 5, 6, 0, 0, 9, 10, 0, 0, 13, 14, 15, 16});
  CHECK(apply("RandomErasing: {factor: [0.2, 0.6], fill_value: 0}", shape, image, {0.4F}) == image);
  CHECK(apply("RandomErasing: {factor: [1, 1], scale: [1, 1], fill_value: 7}", shape, image,
              {0.99F, 0.5F, 0.99F, 0.99F}) == std::vector<float>(16, 7.F));
  int erased = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    erased += apply("RandomErasing: {factor: [0.2, 0.4], scale: [0.5, 1], fill_value: 0}", shape,
                    image, draws_at(i)) == image
                  ? 0
                  : 1;
  }
  CHECK((erased > 250 && erased < 350));
}

TEST_CASE("a quarter turn is counter-clockwise, a translation goes down and right") {
  const ImageShape shape{2, 2, 1};
  const std::vector<float> image{1, 2, 3, 4};
  const auto turned = apply("RandomRotation: {factor: [0.25, 0.25]}", shape, image, {0.F});
  const std::vector<float> expected{2, 4, 1, 3};
  for (std::size_t i = 0; i < 4; ++i) CHECK(turned[i] == doctest::Approx(expected[i]));
  CHECK(apply("RandomTranslation: {height_factor: [0.5, 0.5], width_factor: 0, fill_mode: "
              "constant, fill_value: 9}",
              shape, image, {0.F}) == std::vector<float>{9, 9, 1, 2});
  CHECK(apply("RandomTranslation: {height_factor: 0, width_factor: 0.5, fill_mode: constant}",
              shape, image, {0.F, 0.F}) == std::vector<float>{2, 0, 4, 0});
}

TEST_CASE("mistakes in augment are found with their place") {
  CHECK(contains(bad("[RandomFlop: {}]"),
                 "d.yaml:1:2: there is no augmentation 'RandomFlop'; nearest: 'RandomFlip'"));
  CHECK(contains(bad("RandomFlip: {mod: vertical}"),
                 "augment: RandomFlip has no key 'mod'; nearest: 'mode'"));
  CHECK(
      contains(bad("RandomFlip: {mode: vertcal}"),
               "d.yaml:1:20: augment: RandomFlip: mode 'vertcal' is unknown; nearest: 'vertical'"));
  CHECK(contains(bad("RandomCrop"), "augment: RandomCrop needs the key 'padding'"));
  CHECK(contains(bad("RandomCrop: {height: 24, width: 24}"),
                 "augment: RandomCrop has no height: it keeps the size of the image; give"));
  CHECK(contains(bad("RandomCrop: {padding: -1}"), "padding must be a number of pixels, not -1"));
  CHECK(contains(bad("RandomCrop: {padding: [1]}"), "or a list [vertical, horizontal]"));
  CHECK(contains(bad("RandomRotation"), "augment: RandomRotation needs the key 'factor'"));
  CHECK(contains(bad("RandomRotation: {factor: 1.5}"),
                 "factor must be at least -1 and at most 1, not 1.5"));
  CHECK(contains(bad("RandomRotation: {factor: .nan}"), "factor must be"));
  CHECK(contains(bad("RandomRotation: {factor: [0.1]}"), "a list of a lower and an upper one"));
  CHECK(contains(bad("RandomRotation: {factor: 0.1, fill_mode: mirror}"),
                 "augment: RandomRotation: fill_mode 'mirror' is unknown"));
  CHECK(contains(bad("RandomRotation: {factor: 0.1, interpolation: cubic}"),
                 "augment: RandomRotation: interpolation 'cubic' is unknown"));
  CHECK(contains(bad("RandomTranslation: {height_factor: 0.1}"), "needs the key 'width_factor'"));
  CHECK(contains(bad("RandomZoom: {height_factor: [-1, 0]}"),
                 "height_factor must be more than -1 and at most 1, not -1"));
  CHECK(contains(bad("RandomFlip: {seed: -1}"), "seed"));
  CHECK(
      contains(bad("RandomBrightness: {factor: 0.2}"),
               "d.yaml:1:19: augment: RandomBrightness needs the key 'value_range', the least and "
               "the greatest value of a pixel after scale, mean and std: [0, 1], or"));
  CHECK(contains(bad("RandomHue: {factor: 0.2, value_range: 255}"),
                 "RandomHue: value_range must be a list [least, greatest]"));
  CHECK(contains(bad("RandomHue: {factor: 0.2, value_range: [1, 1]}"), "value_range is 1 alone"));
  CHECK(contains(bad("RandomSaturation: {factor: -0.2}"), "factor must be at least 0"));
  CHECK(contains(bad("RandomErasing"), "augment: RandomErasing needs the key 'fill_value'"));
  CHECK(contains(bad("[[RandomFlip]]"), "augment must be the name of a class"));
  CHECK(ops_of("[]").empty());
}

TEST_CASE("what is drawn depends on seed, field, place of the operation, pass and sample alone") {
  const std::string text = "[RandomTranslation: {height_factor: 0.5, width_factor: 0.5}]";
  const Shape shape{4, 4};
  const auto drawn = [&](const std::string& ops, const std::string& field, std::uint64_t seed,
                         std::int64_t pass, std::int64_t position) {
    data::Augmenter augmenter(ops_of(ops), field, shape, seed);
    std::vector<float> image = counting(16);
    const float* result = augmenter(image.data(), pass, position);
    return std::vector<float>(result, result + 16);
  };
  const auto first = drawn(text, "x", 1, 0, 7);
  CHECK(drawn(text, "x", 1, 0, 7) == first);
  std::set<std::vector<float>> all{
      first,
      drawn(text, "x", 2, 0, 7),
      drawn(text, "x", 1, 1, 7),
      drawn(text, "x", 1, 0, 8),
      drawn(text, "z", 1, 0, 7),
      drawn("[RandomFlip: {mode: vertical, seed: 3}, " + text.substr(1), "x", 1, 0, 7)};
  CHECK(all.size() == 6);
  const std::string seeded = "RandomTranslation: {height_factor: 0.5, width_factor: 0.5, seed: 1}";
  CHECK(drawn(seeded, "x", 99, 0, 7) == first);

  // One augmenter, many samples: none leaves anything behind for the next.
  data::Augmenter augmenter(ops_of("[RandomFlip, RandomRotation: {factor: 0.2}, " + text.substr(1)),
                            "x", shape, 1);
  for (int round = 0; round < 2; ++round) {
    for (const std::int64_t position : {3, 0, 11}) {
      std::vector<float> image = counting(16);
      const float* result = augmenter(image.data(), 2, position);
      CHECK(std::vector<float>(result, result + 16) ==
            drawn("[RandomFlip, RandomRotation: {factor: 0.2}, " + text.substr(1), "x", 1, 2,
                  position));
    }
  }
}

TEST_CASE("an image of any width is moved and stretched") {
  const data::ImageShape shape{3, 150, 2};
  std::vector<float> image(static_cast<std::size_t>(shape.elements()));
  for (std::size_t i = 0; i < image.size(); ++i) image[i] = static_cast<float>(i);
  const data::Sampling sampling{.fill_mode = data::FillMode::kConstant, .fill_value = -1};
  const auto at = [&](std::int64_t y, std::int64_t x, std::int64_t c) {
    return image[static_cast<std::size_t>((y * shape.width + x) * shape.channels + c)];
  };
  std::vector<float> moved(image.size());
  std::vector<float> halves(image.size());
  data::transform(shape, {.a2 = -3, .b2 = 1}, sampling, image.data(), moved.data());
  data::transform(shape, {.a0 = 0.5}, sampling, image.data(), halves.data());
  bool right = true;
  std::size_t i = 0;
  for (std::int64_t y = 0; y < shape.height; ++y) {
    for (std::int64_t x = 0; x < shape.width; ++x) {
      for (std::int64_t c = 0; c < shape.channels; ++c, ++i) {
        right = right && moved[i] == (x < 3 || y == 2 ? -1.F : at(y + 1, x - 3, c));
        const float next = at(y, (x + 1) / 2, c);  // a mean of two neighbours where x is odd
        right = right && halves[i] == (at(y, x / 2, c) + next) / 2;
      }
    }
  }
  CHECK(right);
}
