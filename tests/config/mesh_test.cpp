#include <doctest/doctest.h>

#include "config/config_text.h"

using namespace meshwork::config;
using Axes = std::vector<std::pair<std::string, std::int64_t>>;

namespace {

const std::string kNoMesh = kModel;
const std::string kTwoAxes = kModel + "mesh: {batch: 2, model: 4}\n";

Axes axes(const std::string& text, const std::string& mesh) {
  return parse(text, {}, mesh).mesh.axes;
}

std::string error(const std::string& text, const std::string& mesh) {
  return parse_error(text, {}, mesh);
}

}  // namespace

TEST_CASE("--mesh with sizes replaces those of the file in order") {
  CHECK(axes(kTwoAxes, "4x2") == Axes{{"batch", 4}, {"model", 2}});
  CHECK(axes(kTwoAxes, "1x1") == Axes{{"batch", 1}, {"model", 1}});
  CHECK(axes(kTwoAxes, "-1x2") == Axes{{"batch", -1}, {"model", 2}});
}

TEST_CASE("--mesh with sizes names the axes where the file has none") {
  CHECK(axes(kNoMesh, "8") == Axes{{"data", 8}});
  CHECK(axes(kNoMesh, "4x2") == Axes{{"data", 4}, {"model", 2}});
  CHECK(axes(kNoMesh, "2x3x4x5") == Axes{{"data", 2}, {"model", 3}, {"axis2", 4}, {"axis3", 5}});
}

TEST_CASE("--mesh with axes replaces the whole mesh") {
  CHECK(axes(kTwoAxes, "data=3") == Axes{{"data", 3}});
  CHECK(axes(kTwoAxes, "model=2,x=-1,batch=1") == Axes{{"model", 2}, {"x", -1}, {"batch", 1}});
  CHECK(axes(kNoMesh, "data=4,model=2") == Axes{{"data", 4}, {"model", 2}});
}

TEST_CASE("--mesh wins over an assignment") {
  CHECK(parse(kTwoAxes, {"mesh.batch=16"}, "4x2").mesh.axes == Axes{{"batch", 4}, {"model", 2}});
  CHECK(parse(kTwoAxes, {"mesh=null"}, "4x2").mesh.axes == Axes{{"data", 4}, {"model", 2}});
}

TEST_CASE("errors of --mesh") {
  CHECK(error(kTwoAxes, "8") ==
        "command line: '--mesh 8': gives 1 size, but the mesh at c.yaml:5:7 has 2 (batch, model); "
        "give as many, or name the axes");
  CHECK(error(kTwoAxes, "2x2x2") ==
        "command line: '--mesh 2x2x2': gives 3 sizes, but the mesh at c.yaml:5:7 has 2 (batch, "
        "model); give as many, or name the axes");
  CHECK(error(kNoMesh, "4xx2") ==
        "command line: '--mesh 4xx2': '' is not a size; write sizes, as "
        "4x2, or axes, as data=4,model=2");
  CHECK(error(kNoMesh, "4x2x") ==
        "command line: '--mesh 4x2x': '' is not a size; write sizes, as "
        "4x2, or axes, as data=4,model=2");
  CHECK(error(kNoMesh, "four") ==
        "command line: '--mesh four': 'four' is not a size; write sizes, "
        "as 4x2, or axes, as data=4,model=2");
  CHECK(error(kNoMesh, "data=4,2") ==
        "command line: '--mesh data=4,2': '2' is not an axis and its size; write sizes, as 4x2, or "
        "axes, as data=4,model=2");
  CHECK(error(kNoMesh, "data=4,data=2") ==
        "command line: '--mesh data=4,data=2': mesh axis 'data' stands twice; remove one");
  CHECK(error(kNoMesh, "=4") ==
        "command line: '--mesh =4': mesh axis '': a name is made of "
        "letters, digits and _, no digit first");
  CHECK(error(kNoMesh, "0x2") ==
        "command line: '--mesh 0x2': mesh axis 'data': size is 0; give at "
        "least 1, or -1 for all that is left");
  CHECK(error(kNoMesh, "-1x-1") ==
        "command line: '--mesh -1x-1': mesh axes 'data' and 'model' are both -1; one size at most "
        "may be left open");
  CHECK(error(kNoMesh, "99999x99999") ==
        "command line: '--mesh 99999x99999': mesh (data=99999, "
        "model=99999) has more than 2147483647 devices");
}

TEST_CASE("a mesh of the command line without an axis of the layout map") {
  CHECK(error(kTwoAxes + "layout_map: {d1/kernel: [null, model]}", "batch=8") ==
        "c.yaml:6:32: layout_map: 'd1/kernel': the mesh (batch=8) has no axis 'model'; known: "
        "'batch'");
}

namespace {

const std::string kOrdered = kModel + "mesh: {axes: {data: 2, model: 2}, devices: [3, 1, 0, 2]}\n";

std::string order_error(const std::string& mesh) { return parse_error(kModel + "mesh: " + mesh); }

}  // namespace

TEST_CASE("a mesh may list its devices in an order") {
  const Config config = parse(kOrdered);
  CHECK(config.mesh.axes == Axes{{"data", 2}, {"model", 2}});
  CHECK(config.mesh.devices == std::vector<int>{3, 1, 0, 2});
  CHECK(parse(kTwoAxes).mesh.devices.empty());
  CHECK(parse(kModel + "mesh: {axes: {data: 2}}").mesh.devices.empty());
  CHECK(parse(kModel + "mesh: {axes: 3, devices: 2}").mesh.axes ==
        Axes{{"axes", 3}, {"devices", 2}});
  // An open size is what the list leaves to it.
  CHECK(
      parse(kModel + "mesh: {axes: {data: -1, model: 2}, devices: [1, 0, 3, 2, 5, 4]}").mesh.axes ==
      Axes{{"data", 3}, {"model", 2}});
  CHECK(parse(kOrdered, {"mesh.devices=[0, 1, 3, 2]"}).mesh.devices ==
        std::vector<int>{0, 1, 3, 2});
}

TEST_CASE("the configuration that a run writes keeps the order") {
  const Config again = parse_config(parse(kOrdered).text, "again.yaml", {});
  CHECK(again.mesh.axes == parse(kOrdered).mesh.axes);
  CHECK(again.mesh.devices == std::vector<int>{3, 1, 0, 2});
}

TEST_CASE("--mesh keeps the order where there are as many devices") {
  for (const char* mesh : {"4x1", "1x4", "x=4"}) {
    CHECK(parse(kOrdered, {}, mesh).mesh.devices == std::vector<int>{3, 1, 0, 2});
  }
  for (const char* mesh : {"4x2", "1x1", "-1x2", "x=8"}) {
    CHECK(parse(kOrdered, {}, mesh).mesh.devices.empty());
  }
}

TEST_CASE("errors of an order") {
  CHECK(order_error("{axes: {data: 2, model: 4}, devices: [0, 1, 2]}") ==
        "c.yaml:5:44: mesh devices: 3 are listed, but the axes (data=2, model=4) have 8");
  CHECK(order_error("{axes: {data: -1, model: 4}, devices: [0, 1, 2]}") ==
        "c.yaml:5:45: mesh devices: 3 are listed, but the axes (data=-1, model=4) have a multiple "
        "of 4");
  CHECK(order_error("{axes: {data: 2}, devices: [1, 1]}") ==
        "c.yaml:5:38: mesh devices: 1 stands twice; list each device once");
  CHECK(order_error("{axes: {data: 2}, devices: [0, 2]}") ==
        "c.yaml:5:38: mesh devices: there is no device 2; the 2 of the mesh are 0 to 1");
  CHECK(order_error("{axes: {data: 2}, devices: [0, -1]}") ==
        "c.yaml:5:38: mesh devices: there is no device -1; the 2 of the mesh are 0 to 1");
  CHECK(order_error("{axes: {data: 2}, devices: [0, gpu]}")
            .starts_with("c.yaml:5:38: mesh devices: an entry"));
  CHECK(order_error("{axes: {data: 2}, devices: {a: 1}}") ==
        "c.yaml:5:34: mesh devices must be a list of their numbers, such as [1, 0], not a map");
  CHECK(order_error("{axes: {data: 2}, device: [0, 1]}") ==
        "c.yaml:5:25: mesh has no key 'device'; nearest: 'devices'");
  CHECK(order_error("{devices: [0, 1]}").find("axes") != std::string::npos);
  CHECK(order_error("{axes: [2, 4]}") ==
        "c.yaml:5:14: mesh must be a map of axes and sizes, such as {data: 2, model: 4}, not a "
        "list");
}
