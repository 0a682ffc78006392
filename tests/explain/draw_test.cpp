// Pictures of who holds what, as text: tests/explain/pictures/<case>.txt. With
// MESHWORK_UPDATE_GOLDEN set the texts are written instead of compared (scripts/update_golden.py);
// read the diff.
#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <map>

#include "base/byte_size.h"
#include "cli/program.h"
#include "explain/draw/devices.h"
#include "explain/draw/table.h"
#include "explain/draw/tensor.h"
#include "support/patterns.h"
#include "support/text/layouts.h"

using namespace meshwork;
using meshwork::cli::read_all;
using meshwork::testing::has_match;
using meshwork::testing::parse_layout;

namespace {

Mesh mesh_of(std::vector<std::string> names, std::vector<int> sizes) {
  return {std::move(names), std::move(sizes)};
}

const Mesh kLine = mesh_of({"model"}, {4});
const Mesh kGrid = mesh_of({"data", "model"}, {2, 4});
const Mesh kCube = mesh_of({"data", "height", "width"}, {2, 2, 2});

std::string drawn(const Shape& shape, const std::string& layout, const Mesh& mesh,
                  std::vector<std::string> names, int width = 100) {
  const TensorPicture picture{shape, parse_layout(layout, mesh), std::move(names)};
  return draw_tensor(picture, mesh, {.width = width});
}

std::vector<std::string> image() { return {"batch", "height", "width", "channels"}; }
std::vector<std::string> matrix() { return {"rows", "columns"}; }

/// Every picture by the name of its file.
std::map<std::string, std::string> pictures() {
  const Mesh many = mesh_of({"data", "model"}, {32, 64});
  return {
      {"vector", drawn({8}, "[model]", kLine, {"elements"})},
      {"vector_uneven", drawn({10}, "[model]", kLine, {"elements"})},
      {"vector_replicated", drawn({10}, "[null]", kGrid, {"elements"})},
      {"scalar", drawn({}, "[]", kGrid, {})},
      {"columns", drawn({784, 200}, "[null, model]", kGrid, matrix())},
      {"both", drawn({6, 12}, "[data, model]", kGrid, matrix())},
      {"replicated", drawn({6, 12}, "[null, null]", kGrid, matrix())},
      {"two_axes_on_one", drawn({16, 4}, "[[data, model], null]", kGrid, matrix())},
      {"uneven", drawn({5, 10}, "[data, model]", kGrid, matrix())},
      {"more_devices_than_rows", drawn({3, 4}, "[model, null]", kLine, matrix())},
      {"image", drawn({64, 28, 28, 1}, "[data, height, width, null]", kCube, image())},
      {"image_narrow", drawn({64, 28, 28, 1}, "[data, height, width, null]", kCube, image(), 40)},
      {"image_rows", drawn({64, 28, 20, 3}, "[null, [height, width], null, null]", kCube, image())},
      {"many", drawn({4096, 4096}, "[data, model]", many, matrix(), 80)},
      {"many_replicas", drawn({4, 4}, "[null, null]", many, matrix(), 80)},
      {"many_apart", drawn({2, 64}, "[null, model]", many, matrix(), 80)},
  };
}

}  // namespace

TEST_CASE("every picture is as its text says") {
  const std::filesystem::path folder = "tests/explain/pictures";
  const bool update = std::getenv("MESHWORK_UPDATE_GOLDEN") != nullptr;
  for (const auto& picture : pictures()) {
    // Named, for clang 14 captures no structured binding.
    const std::string& name = picture.first;
    const std::string& text = picture.second;
    const auto file = folder / (name + ".txt");
    if (update) {
      std::ofstream(file) << text;
      continue;
    }
    CHECK_MESSAGE(text == read_all(file), name, "\n", text);
  }
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    CHECK_MESSAGE(pictures().contains(entry.path().stem().string()), entry.path().string());
  }
}

TEST_CASE("a picture has no more columns than there are, and none at its ends") {
  for (const int width : {40, 60, 80, 120}) {
    for (const char* layout : {"[data, model]", "[[data, model], null]", "[null, [model, data]]"}) {
      const std::string text = drawn({123, 457}, layout, kGrid, matrix(), width);
      CAPTURE(text);
      for (const std::string& line : wrap(text, std::string::npos)) {
        CHECK(width_of(line) <= static_cast<std::size_t>(width));
        CHECK(!line.ends_with(' '));
      }
    }
  }
}

TEST_CASE("colours: every box its own, 24 bits or 256, and the text without them is the same") {
  const TensorPicture picture{{4}, parse_layout("[model]", mesh_of({"model"}, {2})), {"elements"}};
  const Mesh mesh = mesh_of({"model"}, {2});
  const std::string plain = draw_tensor(picture, mesh, {.width = 60});
  const std::string deep = draw_tensor(picture, mesh, {.width = 60, .colours = Colours::kTrue});
  const std::string few = draw_tensor(picture, mesh, {.width = 60, .colours = Colours::k256});
  CHECK(plain.find('\x1b') == std::string::npos);
  CHECK(deep.find(
            "│\x1b[30;48;2;119;181;240m         0          \x1b[0m│\x1b[30;48;2;202;226;111m") !=
        std::string::npos);
  CHECK(few.find("│\x1b[30;48;5;111m         0          \x1b[0m│\x1b[30;48;5;") !=
        std::string::npos);
  const auto stripped = [](std::string text) {
    for (std::size_t at = text.find('\x1b'); at != std::string::npos; at = text.find('\x1b')) {
      text.erase(at, text.find('m', at) - at + 1);
    }
    return text;
  };
  CHECK(stripped(deep) == plain);
  CHECK(stripped(few) == plain);
  CHECK(width_of(deep) == width_of(plain));
}

TEST_CASE("without box-drawing characters a picture keeps its form") {
  const TensorPicture picture{{2, 4}, parse_layout("[null, model]", kLine), matrix()};
  const std::string lines = draw_tensor(picture, kLine, {.width = 80});
  const std::string ascii = draw_tensor(picture, kLine, {.width = 80, .ascii = true});
  CHECK(width_of(lines) == ascii.size());
  for (const char c : ascii) CHECK(static_cast<unsigned char>(c) < 0x80U);
  CHECK(ascii.find("+---------+---------+---------+---------+") != std::string::npos);
}

TEST_CASE("halos: what a part keeps, what it fetches, and by whom it is needed") {
  const HaloPicture picture{"height", 6, {1}, {{0, 3}, {3, 6}}, {{0, 4}, {2, 6}}};
  CHECK(draw_halo(picture, kCube, {}) ==
        "        0-2   ███░··   needs 0-3   devices 0,1,4,5\n"
        "        3-5   ··░███   needs 2-5   devices 2,3,6,7\n");
  // A part may need less than it keeps, or nothing.
  const HaloPicture less{"height", 6, {0}, {{0, 3}, {3, 6}}, {{0, 2}, {6, 6}}};
  CHECK(draw_halo(less, mesh_of({"height"}, {2}), {.ascii = true}) ==
        "        0-2   ###...   needs 0-1    device 0\n"
        "        3-5   ...###   needs none   device 1\n");
  // Of long dimensions a single row is still seen.
  const HaloPicture fine{"height", 4000, {0}, {{0, 2000}, {2000, 4000}}, {{0, 2001}, {1999, 4000}}};
  const std::string text = draw_halo(fine, mesh_of({"height"}, {2}), {.ascii = true});
  CHECK(text.find("####################+...") != std::string::npos);
  CHECK(text.find("...+####################") != std::string::npos);
}

TEST_CASE("devices: replicas together, runs, and of many only some") {
  const auto text = [](const Mesh& mesh, const Coordinates& at) {
    return to_string(devices_at(at, mesh));
  };
  CHECK(text(kGrid, {0, 0}) == "0");
  CHECK(text(kGrid, {-1, 1}) == "1,5");
  CHECK(text(kGrid, {1, -1}) == "4-7");
  CHECK(text(kCube, {-1, 0, -1}) == "0,1,4,5");
  const Mesh many = mesh_of({"data", "model"}, {1000, 1000});
  CHECK(text(many, {-1, -1}) == "0-999999");
  CHECK(text(many, {-1, 7}) == "7,1007,2007,…,999007 (1000 devices)");
  CHECK(text(many, {3, -1}) == "3000-3999");
  const Mesh moved = ordered(kGrid, {5, 0, 3, 6, 7, 1, 2, 4});
  CHECK(text(moved, {0, 0}) == "5");
  CHECK(text(moved, {-1, 1}) == "0,1");
  CHECK(text(moved, {1, -1}) == "1,2,4,7");
  CHECK(text(moved, {-1, -1}) == "0-7");
  CHECK(empty_devices({3, 2}, parse_layout("[data, model]", kGrid), moved).listed ==
        std::vector<int>{2, 3, 4, 6});
  CHECK(empty_devices({3, 4}, parse_layout("[model, null]", kLine), kLine).listed ==
        std::vector<int>{3});
  CHECK(empty_devices({3, 2}, parse_layout("[data, model]", kGrid), kGrid).count == 4);
  CHECK(empty_devices({3, 4}, parse_layout("[data, model]", kGrid), kGrid).count == 0);
}

TEST_CASE("boxes have room for the longest numbers of a mesh in another order") {
  const Mesh mesh = ordered(mesh_of({"model"}, {12}), {11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0});
  const std::string text =
      draw_tensor({{24}, parse_layout("[model]", mesh), {"elements"}}, mesh, {.ascii = true});
  CHECK(has_match(text, "\\| +11 +\\| +10 +\\| +9 +\\|"));
}

TEST_CASE("which dimensions a picture shows") {
  const auto dims = [](const Shape& shape, const std::string& layout) {
    const PictureDims found = picture_dims(shape, parse_layout(layout, kGrid), kGrid);
    return std::vector<int>{found.rows, found.columns, static_cast<int>(found.others.size())};
  };
  CHECK(dims({}, "[]") == std::vector<int>{-1, -1, 0});
  CHECK(dims({4}, "[data]") == std::vector<int>{-1, 0, 0});
  CHECK(dims({4, 4}, "[data, null]") == std::vector<int>{0, 1, 0});
  CHECK(dims({3, 3, 8, 16}, "[null, null, null, null]") == std::vector<int>{2, 3, 0});
  CHECK(dims({3, 3, 8, 16}, "[null, null, data, model]") == std::vector<int>{2, 3, 0});
  CHECK(dims({8, 3, 9, 2}, "[data, null, null, null]") == std::vector<int>{0, 1, 0});
  CHECK(dims({64, 28, 20, 3}, "[null, model, null, null]") == std::vector<int>{1, 2, 0});
  CHECK(dims({64, 28, 20, 3}, "[null, null, model, null]") == std::vector<int>{1, 2, 0});
  CHECK(dims({64, 28, 20, 3}, "[null, null, data, model]") == std::vector<int>{2, 3, 0});
  CHECK(dims({3, 3, 8, 16}, "[null, null, null, model]") == std::vector<int>{2, 3, 0});
  CHECK(dims({2, 3, 4, 5}, "[[data, model], null, null, null]") == std::vector<int>{0, 1, 0});
}

TEST_CASE("a table is wrapped to the width, and its lines are all as long") {
  const std::vector<Column> columns{{"Layer (type)"}, {"Param #", Align::kRight}};
  const std::vector<std::vector<std::string>> rows{{"conv2d (Conv2D)", "108"}, {"a\nb", "1,000"}};
  CHECK(draw_table(columns, rows, {.width = 100}) ==
        "┏━━━━━━━━━━━━━━━━━┳━━━━━━━━━┓\n"
        "┃ Layer (type)    ┃ Param # ┃\n"
        "┡━━━━━━━━━━━━━━━━━╇━━━━━━━━━┩\n"
        "│ conv2d (Conv2D) │     108 │\n"
        "├─────────────────┼─────────┤\n"
        "│ a               │   1,000 │\n"
        "│ b               │         │\n"
        "└─────────────────┴─────────┘\n");
  const std::string narrow = draw_table(columns, rows, {.width = 24, .ascii = true});
  CHECK(narrow.find("| conv2d     |     108 |\n| (Conv2D)   |         |\n") != std::string::npos);
  for (const std::string& line : wrap(narrow.substr(0, narrow.size() - 1), std::string::npos)) {
    CHECK(line.size() == 24);
  }
}

TEST_CASE("sizes and counts as Keras writes them") {
  CHECK(show_bytes(0) == "0.00 B");
  CHECK(show_bytes(1023) == "1023.00 B");
  CHECK(show_bytes(1024) == "1.00 KiB");
  CHECK(show_bytes(416828) == "407.06 KiB");
  CHECK(show_bytes(3.5 * 1024 * 1024 * 1024) == "3.50 GiB");
  CHECK(show_count(0) == "0");
  CHECK(show_count(999) == "999");
  CHECK(show_count(1234567) == "1,234,567");
  CHECK(show_count(100000) == "100,000");
}

TEST_CASE("text is broken at spaces, then at slashes and the like, then anywhere") {
  using Lines = std::vector<std::string>;
  CHECK(wrap("", 5) == Lines{""});
  CHECK(wrap("one two three", 8) == Lines{"one two", "three"});
  CHECK(wrap("one two", 3) == Lines{"one", "two"});
  CHECK(wrap("block_1/kernel", 9) == Lines{"block_1/", "kernel"});
  CHECK(wrap("abcdef", 4) == Lines{"abcd", "ef"});
  CHECK(wrap("a\n\nb", 4) == Lines{"a", "", "b"});
  CHECK(wrap("ééé", 2) == Lines{"éé", "é"});
}
