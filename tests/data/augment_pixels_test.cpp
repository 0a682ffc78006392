#include <doctest/doctest.h>

#include <array>
#include <map>

#include "data/augment/augmenter.h"
#include "data/augmented.h"
#include "data/files.h"

using namespace meshwork;
using namespace meshwork::test;
using data::ImageShape;

namespace {

/// All bytes, scaled to a range.
std::vector<float> bytes(float least, float most) {
  std::vector<float> values(256);
  for (std::size_t i = 0; i < 256; ++i) {
    values[i] = static_cast<float>(i) * ((most - least) / 255.F) + least;
  }
  return values;
}

/// How many of 1000 images an operation changes.
int changed(const std::string& text, const ImageShape& shape, const std::vector<float>& image) {
  int count = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    count += apply(text, shape, image, draws_at(i)) == image ? 0 : 1;
  }
  return count;
}

}  // namespace

TEST_CASE("one number of bits is what a posterized image keeps, whatever bytes were scaled to") {
  const ImageShape shape{16, 16, 1};
  for (const auto& [least, most] :
       {std::pair{0.F, 255.F}, {0.F, 1.F}, {-1.F, 1.F}, {-2.1F, 2.6F}}) {
    const std::vector<float> image = bytes(least, most);
    for (int bits = 1; bits <= 8; ++bits) {
      const auto result = apply(fmt::format("RandomPosterization: {{factor: {}, value_range: [{}, "
                                            "{}]}}",
                                            bits, least, most),
                                shape, image, draws_at(static_cast<std::uint64_t>(bits)));
      int wrong = 0;
      for (std::size_t i = 0; i < 256; ++i) {
        const std::size_t kept = i >> (8 - bits) << (8 - bits);
        wrong += std::abs(result[i] - image[kept]) < 1e-5F * (most - least) ? 0 : 1;
      }
      CHECK(wrong == 0);
    }
  }
  // Beyond the range there are no bits; of two numbers all between are drawn.
  CHECK(apply("RandomPosterization: {factor: 1, value_range: [0, 255]}", {1, 4, 1},
              {-3, 127, 128, 999}, {}) == std::vector<float>{0, 0, 128, 128});
  std::map<float, int> counts;
  for (std::uint64_t i = 0; i < 900; ++i) {
    ++counts[apply("RandomPosterization: {factor: [4, 2], value_range: [0, 255]}", {1, 1, 1}, {255},
                   draws_at(i))[0]];
  }
  CHECK(counts.size() == 3);
  for (const float value : {192.F, 224.F, 240.F})
    CHECK((counts[value] > 240 && counts[value] < 360));
}

TEST_CASE("images are inverted within their range, as often as they should be") {
  const ImageShape shape{1, 3, 1};
  CHECK(apply("RandomInvert: {factor: [1, 1], value_range: [-1, 1]}", shape, {-1, 0.25F, 1},
              {0.99F}) == std::vector<float>{1, -0.25F, -1});
  const int half = changed("RandomInvert: {value_range: [0, 1]}", shape, {0, 0, 1});
  CHECK((half > 440 && half < 560));
  const int third =
      changed("RandomInvert: {factor: [0.2, 0.4], value_range: [0, 1]}", shape, {0, 0, 1});
  CHECK((third > 250 && third < 350));
}

TEST_CASE("an image is solarized from a threshold on, drawn between its bounds") {
  const ImageShape shape{1, 4, 1};
  CHECK(apply("Solarization: {value_range: [0, 8]}", shape, {0, 1, 7, 8}, {0.5F, 0.5F}) ==
        std::vector<float>{8, 7, 1, 0});
  // Lower bounds are parts of the range, too.
  const std::string bounds =
      "Solarization: {addition_factor: [0.25, 0.5], threshold_factor: [0.5, 1], value_range: [0, "
      "8]}";
  CHECK(apply(bounds, shape, {0, 1, 2, 7}, {0.F, 0.F}) == std::vector<float>{2, 3, 4, 0});
  CHECK(apply(bounds, shape, {0, 1, 2, 7}, {1.F, 0.5F}) == std::vector<float>{4, 5, 2, 0});
}

TEST_CASE("channels are stretched and equalized each for itself, and left as they are if even") {
  const ImageShape shape{2, 2, 2};
  const std::vector<float> image{1, 5, 2, 5, 3, 5, 3, 5};
  CHECK(apply("AutoContrast: {value_range: [0, 4]}", shape, image, {}) ==
        std::vector<float>{0, 5, 2, 5, 4, 5, 4, 5});
  CHECK(apply("Equalization: {value_range: [0, 255]}", shape, image, {}) ==
        std::vector<float>{0, 5, 85, 5, 255, 5, 255, 5});
  CHECK(apply("Equalization: {value_range: [0, 255], bins: 2}", {1, 2, 1}, {3, 254}, {}) ==
        std::vector<float>{3, 254});
  // Bytes in bins of their own, whatever they were scaled to.
  const auto result = apply("Equalization: {value_range: [-1, 1]}", {16, 16, 1}, bytes(-1, 1), {});
  for (std::size_t i = 0; i < 256; ++i) CHECK(result[i] == doctest::Approx(bytes(-1, 1)[i]));
  // Images [height, width].
  data::Augmenter augmenter(ops_of("[AutoContrast: {value_range: [0, 1]}]"), "x", {1, 3}, 1);
  std::vector<float> grey{0.25F, 0.375F, 0.5F};
  const float* stretched = augmenter(grey.data(), 0, 0);
  CHECK(std::vector<float>(stretched, stretched + 3) == std::vector<float>{0, 0.5F, 1});
}

TEST_CASE("images are blurred and seen from elsewhere as often as they should be") {
  const ImageShape shape{4, 5, 1};
  const std::vector<float> image = counting(20);
  const int half = changed("RandomGaussianBlur: {value_range: [0, 255]}", shape, image);
  CHECK((half > 440 && half < 560));
  const int third = changed("RandomPerspective: {factor: [0.2, 0.4]}", shape, image);
  CHECK((third > 250 && third < 350));
  CHECK(changed("RandomPerspective: {factor: [1, 1], scale: 0}", shape, image) == 0);
  CHECK(changed("RandomPerspective: {factor: 0}", shape, image) == 0);
  // A line of pixels has no perspective.
  CHECK(changed("RandomPerspective: {factor: [1, 1]}", {1, 5, 1}, counting(5)) == 0);
  // No sigma is no blur, and one is that of all images.
  CHECK(changed("RandomGaussianBlur: {factor: [1, 1], sigma: 0, value_range: [0, 255]}", shape,
                image) == 0);
  const std::string one = "RandomGaussianBlur: {factor: [1, 1], sigma: 2, value_range: [0, 255]}";
  CHECK(apply(one, shape, image, {0.F, 0.1F}) == apply(one, shape, image, {0.F, 0.9F}));
  const std::string many =
      "RandomGaussianBlur: {factor: [1, 1], sigma: [0, 2], value_range: [0, 255]}";
  CHECK(apply(many, shape, image, {0.F, 0.1F}) != apply(many, shape, image, {0.F, 0.9F}));
  // Across a row, or down a column.
  const auto blurred = [&](const std::string& sizes, const ImageShape& line) {
    return apply(
        "RandomGaussianBlur: {factor: [1, 1], kernel_size: " + sizes + ", value_range: [0, 255]}",
        line, counting(5), {0.F, 0.F});
  };
  const auto across = blurred("[5, 1]", {1, 5, 1}), down = blurred("[1, 5]", {5, 1, 1});
  const auto one_row = blurred("[1, 5]", {1, 5, 1});  // its neighbours are 0
  for (std::size_t i = 0; i < 5; ++i) {
    CHECK(across[i] == doctest::Approx(down[i]));
    CHECK(one_row[i] * counting(5)[4] == doctest::Approx(counting(5)[i] * one_row[4]));
  }
  CHECK(across != one_row);
  CHECK(one_row[4] < counting(5)[4]);
}

TEST_CASE("one factor of lost colours goes from 0 on, one of sharpness too") {
  const ImageShape shape{1, 1, 3};
  const std::vector<float> image{0.25F, 0.5F, 0.75F};
  CHECK(apply("RandomColorDegeneration: {factor: 0.5, value_range: [0, 1]}", shape, image, {0.F}) ==
        image);
  const auto blurred =
      apply("RandomSharpness: {factor: 0.5, value_range: [0, 1]}", shape, image, {0.F});
  for (std::size_t i = 0; i < 3; ++i) CHECK(blurred[i] == doctest::Approx(image[i] * 5 / 13));
}

TEST_CASE("a jitter is its parts one after the other, each with draws of its own") {
  const Shape shape{2, 2, 3};
  const auto drawn = [&](const std::string& text) {
    data::Augmenter augmenter(ops_of(text), "x", shape, 1);
    std::vector<float> image = counting(12);
    const float* result = augmenter(image.data(), 2, 5);
    return std::vector<float>(result, result + 12);
  };
  CHECK(
      drawn("RandomColorJitter: {hue_factor: 0.4, brightness_factor: 0.3, value_range: [0, 16], "
            "seed: 4}") ==
      drawn("[RandomBrightness: {factor: 0.3, value_range: [0, 16], seed: 4}, RandomHue: {factor: "
            "0.4, value_range: [0, 16], seed: 4}]"));
  const auto ops = ops_of(
      "RandomColorJitter: {hue_factor: 1, contrast_factor: 1, value_range: [0, "
      "1]}");
  REQUIRE(ops.size() == 2);
  CHECK(ops[0].channels == 0);
  CHECK(ops[1].channels == 3);
  CHECK(ops[1].name == "hue_factor of RandomColorJitter");
}

TEST_CASE("each image draws num_ops operations of eleven, all as often") {
  const ImageShape shape{4, 4, 3};
  std::vector<float> image(48);
  for (std::size_t i = 0; i < image.size(); ++i) {
    image[i] = 0.2F + 0.01F * static_cast<float>(i * 5 % 48);
  }
  const std::string text =
      "RandAugment: {factor: [0.3, 0.3], num_ops: 3, interpolation: nearest, value_range: [0, 1]}";
  CHECK(ops_of(text).size() == 3);
  CHECK(ops_of("[RandomFlip, RandAugment: {value_range: [0, 1]}]").size() == 3);
  // All but the pick is one draw, so that each operation makes one image.
  std::map<std::vector<float>, int> counts;
  for (std::uint64_t i = 0; i < 1100; ++i) {
    ++counts[apply(text, shape, image, {draws_at(i)[0], 0.7F, 0.7F, 0.7F})];
  }
  CHECK(counts.size() == 11);
  for (const auto& entry : counts) CHECK((entry.second > 60 && entry.second < 140));
  for (std::uint64_t i = 0; i < 300; ++i) {
    for (const float x :
         apply("RandAugment: {factor: 1, value_range: [0, 1]}", shape, image, draws_at(i))) {
      REQUIRE((x >= 0 && x <= 1));
    }
  }
}

TEST_CASE("mistakes in operations on pixels are found with their place") {
  for (const char* name : {"AutoContrast", "Equalization", "RandomInvert", "Solarization"}) {
    CHECK(contains(bad(name), fmt::format("augment: {} needs the key 'value_range'", name)));
  }
  CHECK(contains(bad("RandomPosterization: {value_range: [0, 1]}"), "needs the key 'factor'"));
  CHECK(contains(bad("RandomPosterization: {factor: 9, value_range: [0, 1]}"),
                 "d.yaml:1:31: factor must be a number of bits from 1 to 8, not 9"));
  CHECK(contains(bad("RandomPosterization: {factor: [0, 3], value_range: [0, 1]}"), "not 0"));
  CHECK(contains(bad("RandomPosterization: {factor: [3], value_range: [0, 1]}"),
                 "or a list of the least and the greatest one"));
  CHECK(contains(bad("RandomPosterization: {factor: 0.5, value_range: [0, 1]}"), "an integer"));
  CHECK(contains(bad("Equalization: {bins: 1, value_range: [0, 1]}"), "bins is 1"));
  CHECK(contains(bad("Equalization: {bins: 5000, value_range: [0, 1]}"), "bins is 5000"));
  CHECK(contains(bad("RandomGaussianBlur: {kernel_size: 4, value_range: [0, 1]}"),
                 "kernel_size must be an odd number from 1 to 255, not 4"));
  CHECK(contains(bad("RandomGaussianBlur: {kernel_size: [3, 3, 3], value_range: [0, 1]}"),
                 "kernel_size must be a number, or a list of two: across, down"));
  CHECK(contains(bad("RandomGaussianBlur: {sigma: -1, value_range: [0, 1]}"),
                 "sigma must be a number of pixels from 0 on, not -1"));
  CHECK(contains(bad("RandomGaussianBlur: {sigma: [1], value_range: [0, 1]}"),
                 "sigma must be a number, or a list of a lower and an upper one"));
  CHECK(contains(bad("RandomPerspective: {scale: 2}"), "scale is 2"));
  CHECK(contains(bad("RandomSharpness: {factor: 0.5}"), "needs the key 'value_range'"));
  CHECK(contains(bad("RandomColorDegeneration: {factor: -0.5, value_range: [0, 1]}"),
                 "factor must be at least 0"));
  CHECK(contains(bad("RandAugment"), "augment: RandAugment needs the key 'value_range'"));
  CHECK(contains(bad("RandAugment: {num_ops: 0, value_range: [0, 1]}"), "num_ops is 0"));
  CHECK(contains(bad("RandAugment: {factor: 2, value_range: [0, 1]}"), "at most 1, not 2"));
  CHECK(contains(bad("RandAugment: {interpolation: cubic, value_range: [0, 1]}"),
                 "augment: RandAugment: interpolation 'cubic' is unknown"));
  CHECK(contains(bad("RandomColorJitter: {value_range: [0, 1]}"),
                 "augment: RandomColorJitter changes nothing: give one or more of brightness_"));
  CHECK(contains(bad("RandomColorJitter: {hue_factor: -1, value_range: [0, 1]}"),
                 "d.yaml:1:33: factor must be at least 0"));
  CHECK(contains(bad("RandomColorJitter: {hue: 1, value_range: [0, 1]}"), "hue"));
  CHECK(contains(bad("Solarization: {addition_factor: 2, value_range: [0, 1]}"),
                 "addition_factor must be at least 0 and at most 1, not 2"));
}
