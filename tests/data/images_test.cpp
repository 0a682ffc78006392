#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

#include "data/files.h"
#include "data/image_files.h"
#include "data/loader.h"
#include "data/taken_classes.h"

using namespace meshwork;
using namespace meshwork::test;

namespace fs = std::filesystem;

namespace {

/// A grey PNG of 2 x 2 pixels of that value.
std::string plain(int value) {
  return png(2, 2, std::string(4, static_cast<char>(value)),
             {.color_type = 0, .palette = {}, .transparency = {}});
}

constexpr const char* kGray = "{format: images, color_mode: grayscale, splits: {train: train}}";

/// Classes ant, bee and cat of 2, 0 and 3 images with the values 1 to 5.
void write_animals(const TempDir& dir) {
  dir.write("train/cat/z.png", plain(5));
  dir.write("train/cat/a/1.PNG", plain(4));
  dir.write("train/cat/B.png", plain(3));
  dir.write("train/ant/2.png", plain(2));
  dir.write("train/ant/1.png", plain(1));
  dir.write("train/ant/notes.txt", "no image");
  dir.write("train/readme.md", "none either");
  dir.write("train/.git/x.png", plain(9));
  fs::create_directories(dir.file("train/bee"));
}

std::string failure(const TempDir& dir, const std::string& description,
                    ExitCode code = ExitCode::kFile) {
  const auto read = [](const data::Split& split) { floats(split, "x"); };
  return reading_error(dir, description, read, code);
}

std::string bad(const std::string& keys) {
  const TempDir dir;
  return failure(dir, "{format: images, splits: {train: train}, " + keys + "}",
                 ExitCode::kConfiguration);
}

}  // namespace

TEST_CASE("classes are the sorted subfolders, images come in the order of their paths") {
  const TempDir dir;
  write_animals(dir);
  const data::Dataset opened = dataset(dir, kGray);
  CHECK(opened.describe() == "train: 5 samples, x float32 [2, 2, 1], y int32 []\n");
  const data::Split& train = opened.split("train");
  CHECK(ints(train, "y") == std::vector<std::int32_t>{0, 0, 2, 2, 2});
  std::vector<float> expected;
  for (const float value : {1.F, 2.F, 3.F, 5.F, 4.F}) {  // cat/B, cat/z, then cat/a/1
    expected.insert(expected.end(), 4, value);
  }
  CHECK(floats(train, "x") == expected);
  CHECK(floats(train, "x") == expected);  // kept

  const data::Dataset chosen = dataset(
      dir, "{format: images, class_names: [cat, ant], splits: {train: train}, y: {one_hot: 2}}");
  CHECK(chosen.describe() == "train: 5 samples, x float32 [2, 2, 3], y float32 [2]\n");
  CHECK(floats(chosen.split("train"), "y") == std::vector<float>{1, 0, 1, 0, 1, 0, 0, 1, 0, 1});
}

TEST_CASE("a part of a folder that lacks whole classes is told of") {
  const TempDir dir;
  write_animals(dir);
  const auto told = [&](const std::string& keys) {
    const data::Dataset opened =
        dataset(dir, "{format: images, splits: {train: train}" + keys + "}");
    return data::taken_classes(opened.split("train")).value_or("");
  };
  CHECK(
      told(", take: 2") ==
      dir.file("train") +
          ": take: the first 2 of 5 samples are of 1 of the 2 classes, for a folder is read class "
          "by class; train on all for fewer steps (fit.steps_per_epoch), name the classes you "
          "want (dataset.class_names), or put some of each class in a folder of their "
          "own");
  CHECK(told(", take: 3") == "");
  CHECK(told("") == "");
  CHECK(told(", take: 2, class_names: [ant, bee]") == "");
}

TEST_CASE("without labels every image below the folder is read") {
  const TempDir dir;
  write_animals(dir);
  dir.write("train/0.png", plain(7));
  fs::remove_all(dir.file("train/.git"));
  const data::Dataset opened =
      dataset(dir, "{format: images, color_mode: grayscale, splits: {train: {x: train}}}");
  const auto x = floats(opened.split("train"), "x");
  std::vector<float> values;
  for (std::size_t i = 0; i < x.size(); i += 4) values.push_back(x[i]);
  CHECK(values == std::vector<float>{7, 1, 2, 3, 5, 4});
}

TEST_CASE("fields of other names say what they are; scale and cast hold for images, too") {
  const TempDir dir;
  write_animals(dir);
  const data::Dataset opened = dataset(
      dir,
      "{format: images, color_mode: grayscale, splits: {train: {photo: train, kind: train}},"
      " photo: {part: image, scale: 0.5}, kind: {part: label, dtype: int32}}");
  CHECK(opened.describe() == "train: 5 samples, photo float32 [2, 2, 1], kind int32 []\n");
  CHECK(floats(opened.split("train"), "photo")[0] == 0.5F);
  const data::Dataset whole = dataset(
      dir, "{format: images, color_mode: grayscale, splits: {train: train}, x: {dtype: int32}}");
  CHECK(ints(whole.split("train"), "x")[4] == 2);
}

TEST_CASE("images of any size become one size, as Keras does it") {
  const TempDir dir;
  dir.write("train/a/1.png", png(2, 2, std::string("\0\10\20\30", 4),
                                 {.color_type = 0, .palette = {}, .transparency = {}}));
  dir.write("train/a/2.jpg", jpeg(40, 30, 3, std::string(3600, '\100')));
  dir.write("train/a/3.png",
            png(2, 4, "abcdefgh", {.color_type = 0, .palette = {}, .transparency = {}}));
  const std::string head = "{format: images, color_mode: grayscale, splits: {train: train}, ";
  for (const char* cache : {"", "cache: true, ", "cache: false, "}) {
    const data::Dataset opened = dataset(dir, head + cache + "image_size: [2, 4]}");
    CHECK(opened.describe() == "train: 3 samples, x float32 [2, 4, 1], y int32 []\n");
    const auto x = floats(opened.split("train"), "x");
    CHECK(std::vector(x.begin(), x.begin() + 8) == std::vector<float>{0, 2, 6, 8, 16, 18, 22, 24});
    for (std::size_t i = 8; i < 16; ++i) CHECK(x[i] == doctest::Approx(64).epsilon(0.02));
    CHECK(std::vector(x.begin() + 16, x.end()) ==
          std::vector<float>{97, 98, 99, 100, 101, 102, 103, 104});
  }
  const data::Dataset square =
      dataset(dir, head + "image_size: 2, crop_to_aspect_ratio: true, interpolation: nearest}");
  const auto x = floats(square.split("train"), "x");
  CHECK(std::vector(x.begin() + 8, x.end()) == std::vector<float>{98, 99, 102, 103});
}

TEST_CASE("a folder of mixed sizes needs image_size") {
  const TempDir dir;
  dir.write("train/a/1.png", plain(1));
  dir.write("train/b/2.jpeg", jpeg(8, 9, 1, std::string(72, 'a')));
  CHECK(failure(dir, kGray) == dir.file("train/b/2.jpeg") + ": 8 x 9, but " +
                                   dir.file("train/a/1.png") +
                                   " is 2 x 2; give image_size: [height, width] to make all "
                                   "images alike");
}

TEST_CASE("what is wrong with a folder is told with its path") {
  const TempDir dir;
  CHECK(contains(failure(dir, kGray), "d.yaml:1:57: found no folder 'train' in " + dir.path()));
  dir.write("train", "a file");
  CHECK(contains(failure(dir, kGray), "found no folder 'train'"));
  fs::remove(dir.file("train"));
  fs::create_directories(dir.file("train"));
  CHECK(
      contains(failure(dir, kGray), dir.file("train") + ": no subfolders, of which there must be"));
  CHECK(contains(failure(dir, "{format: images, splits: {train: {x: train}}}"),
                 dir.file("train") + ": no images (.png, .jpg, .jpeg) in this folder"));
  fs::create_directories(dir.file("train/a"));
  dir.write("train/b/notes.txt", "");
  CHECK(contains(failure(dir, kGray), dir.file("train") + ": no images (.png, .jpg, .jpeg)"));
  dir.write("train/b/photo.bmp", "BM");
  CHECK(contains(failure(dir, kGray),
                 dir.file("train/b/photo.bmp") + ": images are read from PNG and JPEG files only"));
  fs::remove(dir.file("train/b/photo.bmp"));
  dir.write("train/b/fake.png", "not at all");
  CHECK(contains(failure(dir, kGray),
                 dir.file("train/b/fake.png") + ": neither a PNG nor a JPEG image"));
  dir.write("train/b/fake.png", "");
  CHECK(contains(failure(dir, kGray), dir.file("train/b/fake.png") + ": the file is empty"));
  dir.write("train/b/fake.png", plain(1).substr(0, 40));
  CHECK(contains(failure(dir, kGray), dir.file("train/b/fake.png") + ": damaged PNG image: "));
  fs::remove(dir.file("train/b/fake.png"));
  fs::create_directories(dir.file("train/b/folder.png"));
  dir.write("train/b/good.png", plain(1));
  CHECK(failure(dir, kGray).empty());
  CHECK(contains(failure(dir, "{format: images, class_names: [b, c], splits: {train: train}}"),
                 "d.yaml:1:31: class_names: no subfolder 'c' in " + dir.file("train")));
}

TEST_CASE("splits whose classes would get different numbers are refused") {
  const TempDir dir;
  write_animals(dir);
  dir.write("test/ant/1.png", plain(1));
  dir.write("test/cat/1.png", plain(1));
  const std::string text = "{format: images, splits: {train: train, test: test}}";
  for (const char* split : {"train", "test"}) {
    const data::Dataset opened = dataset(dir, text);
    CHECK(contains(error_of([&] { opened.split(split); }),
                   dir.file("train") + ": has a subfolder 'bee', but " + dir.file("test") +
                       " has none, so that classes would get different numbers; give class_names"));
  }
  const data::Dataset chosen =
      dataset(dir, "{format: images, class_names: [ant, cat], splits: {train: train, test: test}}");
  CHECK(ints(chosen.split("test"), "y") == std::vector<std::int32_t>{0, 1});
  // A class of which a split has no image.
  const data::Dataset some = dataset(
      dir, "{format: images, class_names: [ant, bee, cat], splits: {train: train, test: test}}");
  CHECK(ints(some.split("test"), "y") == std::vector<std::int32_t>{0, 2});
  fs::remove_all(dir.file("test"));  // what is not there is no obstacle
  CHECK(dataset(dir, text).split("train").samples == 5);
}

TEST_CASE("new images have no labels, whatever the description says of these") {
  const TempDir dir;
  dir.write("new/1.png", plain(1));
  data::Dataset opened = dataset(
      dir, "{format: images, class_names: [ant, cat], splits: {test: {x: new}}, y: {one_hot: 2}}");
  opened.keep_fields({"x"});
  CHECK(opened.split("test").samples == 1);
}

TEST_CASE("mistakes in the description of images are found without files") {
  CHECK(contains(bad("color_mode: gray"),
                 "color_mode 'gray' is unknown; known: 'grayscale', 'rgb', 'rgba'"));
  CHECK(contains(bad("image_size: [1, 2, 3]"), "image_size must be [height, width]"));
  CHECK(contains(bad("image_size: [0, 2]"), "image_size must be between 1 and 65536, not 0"));
  CHECK(contains(bad("image_size: [65536, 65536]"), "is more than 268435456 pixels"));
  CHECK(contains(bad("interpolation: nearest"),
                 "interpolation says how images are resized; give image_size, too"));
  CHECK(contains(bad("image_size: 2, interpolation: cubic"), "interpolation 'cubic' is unknown"));
  CHECK(contains(bad("class_names: cat"), "class_names must be a list of subfolders"));
  CHECK(contains(bad("class_names: [a, b, a]"), "class_names has 'a' twice"));
  CHECK(
      contains(bad("x: {part: label}, y: {part: img}"), "part 'img' is unknown; nearest: 'image'"));
  CHECK(contains(bad("cache: maybe"), "cache must be"));
  const TempDir dir;
  const auto described = [&](const std::string& text) {
    return failure(dir, text, ExitCode::kConfiguration);
  };
  CHECK(contains(described("{format: images, splits: {train: {photo: a}}}"),
                 "field 'photo' must say what it is of the images; write photo: {part: image}"));
  CHECK(contains(described("{format: images, class_names: [a], splits: {train: {x: a}}}"),
                 "class_names are for labels, but no field is the labels"));
  CHECK(contains(described("{format: images, splits: {train: {x: ''}}}"), "must name a folder"));
}

TEST_CASE("an image that changes or goes bad while training ends it with its name") {
  const TempDir dir;
  write_animals(dir);
  const std::string text =
      "{format: images, color_mode: grayscale, cache: false, splits: {train: train}}";
  const data::Dataset opened = dataset(dir, text);
  const data::Split& train = opened.split("train");
  const auto train_on = [&](const std::string& bytes) {
    dir.write("train/cat/B.png", bytes);  // sample 2
    data::Loader loader(train, {.batch_size = 2}, whole_parts(train));
    CHECK(loader.next().fields[0].as<std::uint8_t>()[0] == 1);
    return error_of([&] { loader.next(); });
  };
  CHECK(contains(train_on(plain(3).substr(0, 50)), dir.file("train/cat/B.png") + ": damaged PNG"));
  CHECK(contains(train_on(png(1, 4, "abcd", {.color_type = 0, .palette = {}, .transparency = {}})),
                 "1 x 4, but it was 2 x 2 before"));
  fs::remove(dir.file("train/cat/B.png"));
  data::Loader loader(train, {.batch_size = 5}, whole_parts(train));
  CHECK(contains(error_of([&] { loader.next(); }), dir.file("train/cat/B.png") + ": cannot open"));
}

namespace {

/// Images of two sizes in two folders, of masks with a palette, whose labels are 0 to 2.
void write_masks(const TempDir& dir) {
  const PngKind palette{
      .color_type = 3, .bit_depth = 8, .palette = "abcdefghi", .transparency = {}};
  dir.write("train/b/2.jpg", jpeg(4, 2, 3, smooth_pixels(4, 2, 3)));
  dir.write("train/b/1.png", plain(3));
  dir.write("train/a.JPEG", jpeg(2, 2, 3, smooth_pixels(2, 2, 3)));
  dir.write("masks/b/2.png", png(4, 2, std::string("\1\1\0\0\2\2\1\2", 8), palette));
  dir.write("masks/b/1.png", png(2, 2, std::string("\0\1\2\0", 4), palette));
  dir.write("masks/a.png", png(2, 2, std::string("\2\2\0\0", 4), palette));
  dir.write("masks/unused.png", plain(9));
}

const std::string kMasks = "format: images, splits: {train: {x: train, y: masks}}, y: {mask_of: x}";

}  // namespace

TEST_CASE("masks are the PNG files called as the images, resized by nearest") {
  const TempDir dir;
  write_masks(dir);
  const data::Dataset opened =
      dataset(dir, "{" + kMasks + ", image_size: [2, 2], interpolation: bilinear}");
  const data::Split& train = opened.split("train");
  CHECK(data::describe(train) == "train: 3 samples, x float32 [2, 2, 3], y int32 [2, 2]");
  CHECK(train.fields[1].source->info().dtype == DType::kUInt8);
  CHECK(ints(train, "y") == std::vector<std::int32_t>{2, 2, 0, 0, 0, 1, 2, 0, 0, 0, 1, 2});
  const data::Dataset wide = dataset(
      dir, "{" + kMasks.substr(0, kMasks.size() - 1) + ", shape: [4, 2, 1]}, image_size: [4, 2]}");
  CHECK(data::describe(wide.split("train")) ==
        "train: 3 samples, x float32 [4, 2, 3], y int32 [4, 2, 1]");
  CHECK(ints(wide.split("train"), "y")[16] == 1);
}

TEST_CASE("masks that are missing, of other sizes, or of nothing, are errors") {
  const TempDir dir;
  write_masks(dir);
  CHECK(contains(failure(dir, "{" + kMasks + "}"), "give image_size: [height, width]"));
  fs::remove(dir.file("masks/b/1.png"));
  const std::string sized = "{" + kMasks + ", image_size: 2}";
  CHECK(contains(failure(dir, sized), "train/b/1.png: there is no mask " + dir.path() +
                                          "/masks/b/1.png; add it, or take the image away"));
  dir.write("masks/b/1.png", plain(7).substr(0, 20));
  CHECK(contains(error_of([&] { ints(dataset(dir, sized).split("train"), "y"); }),
                 "masks/b/1.png: damaged PNG image"));
  CHECK(contains(failure(dir, "{format: images, splits: {train: {y: masks}}, y: {mask_of: x}}",
                         ExitCode::kConfiguration),
                 "mask_of must name another field, not 'x'"));
}

TEST_CASE("splits may be parts of one folder, whose images are shuffled") {
  const TempDir dir;
  for (int i = 0; i < 40; ++i) {
    const std::string name = (i < 20 ? "ant/" : "bee/") + std::to_string(100 + i) + ".png";
    dir.write("all/" + name, plain(i));
    dir.write("masks/" + name, plain(i));
  }
  const std::string start = "{format: images, color_mode: grayscale, files: ";
  const std::string parts = "splits: {train: 0.75, test: 0.25}";
  const data::Dataset opened = dataset(dir, start + "all, " + parts + "}", 1);
  const data::Split &train = opened.split("train"), &test = opened.split("test");
  CHECK((train.samples == 30 && test.samples == 10));
  const std::vector<float> images = floats(train, "x"), held_out = floats(test, "x");
  const std::vector<std::int32_t> labels = ints(train, "y"), test_labels = ints(test, "y");
  std::vector<float> seen;
  for (std::size_t i = 0; i < 30; ++i) {
    CHECK(labels[i] == (images[4 * i] < 20 ? 0 : 1));
    seen.push_back(images[4 * i]);
  }
  for (std::size_t i = 0; i < 10; ++i) {
    CHECK(test_labels[i] == (held_out[4 * i] < 20 ? 0 : 1));
    seen.push_back(held_out[4 * i]);
  }
  CHECK(!std::ranges::is_sorted(seen));
  std::ranges::sort(seen);
  for (std::size_t i = 0; i < 40; ++i) CHECK(seen[i] == static_cast<float>(i));
  CHECK(std::ranges::count(test_labels, 0) > 0);
  CHECK(std::ranges::count(test_labels, 1) > 0);

  // What is held out depends on the description alone, not on the seed of the run.
  CHECK(floats(dataset(dir, start + "all, " + parts + "}", 2).split("test"), "x") == held_out);
  const std::string other = start + "all, seed: 7, " + parts + "}";
  CHECK(floats(dataset(dir, other, 1).split("test"), "x") != held_out);

  const data::Dataset masks =
      dataset(dir, start + "{x: all, y: masks}, y: {mask_of: x}, " + parts + "}");
  const std::vector<std::int32_t> pixels = ints(masks.split("test"), "y");
  CHECK(std::ranges::equal(pixels, floats(masks.split("test"), "x")));
  const data::Dataset own =
      dataset(dir, start + "all, splits: {train: 0.5, validation: 0.5, test: all}}");
  CHECK(floats(own.split("test"), "x")[4] == 1);  // in the order of the files
  CHECK(contains(bad("seed: 3"), "no key 'seed'"));
}
