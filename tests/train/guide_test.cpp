// Configurations that ship, on every mesh they are meant for; what needs files trains on made-up
// samples of their shape.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <fstream>
#include <sstream>

#include "support/patterns.h"
#include "support/training.h"

using namespace meshwork;
using namespace meshwork::testing;

namespace {

std::string text_of(const std::string& file) {
  std::ifstream stream(file);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

/// The text with 40 samples in the place of MNIST, in batches of 16.
std::string without_files(const std::string& file) {
  const std::string samples =
      "\ndataset: {name: t, format: synthetic, splits: {train: {x: {normal: [40, 28, 28]}, "
      "y: {integers: [40], below: 10}}}}\n";
  std::string text = replace_all(text_of(file), "\ndataset: [^\n]*mnist[^\n]*\n", samples);
  text = replace_all(text, "validation: true", "validation: false");
  return replace_all(text, "batch_size: \\d+", "batch_size: 16");
}

/// Every step of a program; gives the losses on one device. Weights are compared where no gradient
/// is mere rounding: Adam makes whole steps of those (a bias before BatchNormalization has no
/// other).
std::vector<double> check_text_against_one_device(const std::string& text, std::int64_t steps,
                                                  const std::vector<std::string>& meshes,
                                                  const std::string& one_device,
                                                  bool compare_weights = false) {
  const Trajectory one = train(text, {.mesh = one_device, .steps = steps});
  for (const std::string& mesh : meshes) {
    CAPTURE(mesh);
    const Trajectory many = train(text, {.mesh = mesh, .steps = steps});
    CHECK(loss_difference(one, many) < 1e-5);
    if (compare_weights) CHECK(weight_difference(one, many) < 1e-4);
  }
  return one.losses;
}

/// Every step of a whole run.
void check_against_one_device(const std::string& file, std::int64_t steps,
                              const std::vector<std::string>& meshes,
                              const std::string& one_device = "1x1") {
  const auto losses = check_text_against_one_device(text_of(file), steps, meshes, one_device, true);
  CHECK(losses.back() < losses.front());
}

}  // namespace

TEST_CASE("the guide's losses are the same in every step on every mesh") {
  check_against_one_device("configs/keras_guide.yaml", 3 * 8, {"8x1", "4x2", "2x4", "1x8"});
}

TEST_CASE("so are those of the guide's DataParallel, which has one axis") {
  const std::string text = replace_all(text_of("configs/keras_guide.yaml"),
                                       "strategy: model_parallel\n|layout_map:\n(  .*\n)*", "");
  check_text_against_one_device(text, 8, {"data=8"}, "data=1", true);
}

TEST_CASE("so are those of DTensor's tutorial, replicated or with other layouts") {
  const std::string text = without_files("configs/dtensor_mnist.yaml");
  check_text_against_one_device(text, 4, {"batch=8", "batch=2,model=4"}, "batch=1");
  const std::string parallel =
      replace_first(text, "kernel_layout: \\[null, null\\], bias_layout: \\[null\\]\\}\n",
                    "kernel_layout: [null, model], bias_layout: [model]}\n");
  CHECK(parallel != text);
  check_text_against_one_device(parallel, 4, {"batch=2,model=4", "batch=1,model=8"},
                                "batch=1,model=1");
}

TEST_CASE("so are those of the JAX guide, also with images in tiles") {
  const std::string text = without_files("configs/jax_convnet.yaml");
  check_text_against_one_device(text, 2, {"8", "2"}, "1");
  check_text_against_one_device(
      text + "strategy: model_parallel\nlayout_map: {input/output: [batch, height, width, null]}\n",
      2, {"batch=2,height=2,width=2"}, "batch=1,height=1,width=1");
}

TEST_CASE("an order of the devices of a mesh changes no bit") {
  const std::string guide = text_of("configs/keras_guide.yaml");
  const std::string tiles = text_of("configs/tiles.yaml");
  const auto in_order = [](const std::string& text, const std::string& mesh) {
    return replace_all(text, "\nmesh: [^\n]*\n", "\nmesh: " + mesh + "\n");
  };
  struct Case {
    const std::string& text;
    const char* axes;
    const char* devices;
  };
  for (const Case& each : {Case{guide, "{data: 2, model: 4}", "[5, 0, 3, 6, 7, 1, 2, 4]"},
                           Case{guide, "{data: 8, model: 1}", "[7, 6, 5, 4, 3, 2, 1, 0]"},
                           Case{tiles, "{data: 2, height: 3, width: 1}", "[1, 4, 0, 5, 3, 2]"}}) {
    CAPTURE(each.devices);
    const Trajectory plain = train(in_order(each.text, each.axes), {.steps = 6});
    const std::string mesh = fmt::format("{{axes: {}, devices: {}}}", each.axes, each.devices);
    const Trajectory moved = train(in_order(each.text, mesh), {.steps = 6});
    CHECK(plain.losses == moved.losses);
    CHECK(plain.weights == moved.weights);
    CHECK(plain.digest == moved.digest);
  }
}

TEST_CASE("so are those with a batch, layers and a mesh of which nothing divides anything") {
  check_against_one_device("configs/uneven.yaml", 2 * 21, {"3x2", "2x3", "5x1", "1x7"});
}

TEST_CASE("so are those of images in tiles that are uneven, narrower than a window, or empty") {
  check_against_one_device("configs/tiles.yaml", 2 * 11,
                           {"1x3x2", "1x2x2", "2x2x2", "1x1x5", "1x8x1", "3x1x2"}, "1x1x1");
}

TEST_CASE("so are those of image segmentation, whose masks lie in the tiles of their images") {
  std::string text = replace_first(
      text_of("configs/unet.yaml"), "\n  name: oxford_pets\n",
      "\n  name: t\n  format: synthetic\n  splits: {train: {x: {normal: [12, 48, 48, 3]}, y: "
      "{integers: [12, 48, 48], below: 3}}}\n  y: {mask_of: x}\n");
  text = replace_first(text, "\\[160, 160, 3\\]", "[48, 48, 3]");
  text = replace_first(text, "width: 32", "width: 4");
  text = replace_first(text, "validation: true\n  callbacks: [^\n]*", "validation: false");
  text = replace_first(text, "batch_size: 32", "batch_size: 5");
  check_text_against_one_device(text, 6, {"1x2x2", "2x3x1", "3x1x5"}, "1x1x1");
}

TEST_CASE("so are those of a variational autoencoder, whose layers add to the loss") {
  const std::string text = without_files("configs/vae.yaml");
  const auto losses = check_text_against_one_device(text, 9, {"2", "3", "5"}, "1");
  CHECK(losses.back() < losses.front());
}
