// meshwork plan: what a training step takes.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <regex>

#include "cli/job_folder.h"

using namespace meshwork::cli;
using Json = nlohmann::json;

namespace {

Json json_of(const JobFolder& folder, const std::string& arguments) {
  return Json::parse(output(folder, arguments));
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

}  // namespace

TEST_CASE("plan lists what a step sends, takes and computes, and writes nothing") {
  const JobFolder folder;
  const std::string text = output(folder, "plan c.yaml");
  CHECK(text.starts_with(
      "mesh data=2,model=2: 4 devices, device = 2 data + model\na training step of 8 samples\n\n"
      "Sends 234.00 B in 7 collectives, which start as 2: bytes of one device, on average\n"
      "     80.00 B  forward, d2: einsum of d2\n"
      "              [data, null] partial(model) -> [data, null]: all_reduce over model\n"));
  CHECK(text.find("     42.00 B  backward, d1: d1/kernel/gradient\n"
                  "              [null, model] partial(data) -> [null, model]: all_reduce over "
                  "data\n") != std::string::npos);
  CHECK(text.find("    164.00 B  weights\n") != std::string::npos);
  CHECK(std::regex_search(text, std::regex("\nComputes [0-9.]+ k floating-point operations: device "
                                           "0, which computes most\n +[0-9]+  forward\n")));
  CHECK(text.find("samples/s") == std::string::npos);
  CHECK_FALSE(folder.has("run"));
}

TEST_CASE("plan takes as much memory as explain says, and fit") {
  const JobFolder folder;
  const Json plan = json_of(folder, "plan c.yaml --json");
  const Json explained = json_of(folder, "explain c.yaml --json");
  for (const char* part : {"weights", "optimizer", "step", "data"}) {
    CAPTURE(part);
    CHECK(plan["memory"][part] == explained["memory"][part]);
  }
  CHECK(plan["sends"]["bytes"] == explained["totals"]["sent_per_device"]);
  CHECK(plan["sends"]["collectives"] == explained["totals"]["collectives"]);
  CHECK(plan["memory"]["fullest"]["bytes"] <= plan["memory"]["step"]);
  CHECK(plan["seconds"].is_null());
}

TEST_CASE("plan compares meshes, a line for each") {
  const JobFolder folder;
  const std::vector<std::string> all = lines_of(output(folder, "plan c.yaml --meshes all"));
  REQUIRE(all.size() == 6);
  CHECK(all[0] == "a training step of 8 samples, of the device that has most of each");
  CHECK(all[2].starts_with("mesh  "));
  CHECK(all[3].starts_with("data=4,model=1  "));
  CHECK(all[4].starts_with("data=2,model=2  "));
  CHECK(all[5].starts_with("data=1,model=4  "));
  const Json meshes = json_of(folder, "plan c.yaml --meshes 1x1,3x2 --json");
  REQUIRE(meshes.size() == 2);
  CHECK(meshes[0]["mesh"] == Json{{"data", 1}, {"model", 1}});
  CHECK(meshes[0]["sends"]["bytes"] == 0);
  CHECK(meshes[1]["mesh"] == Json{{"data", 3}, {"model", 2}});
  CHECK(meshes[1]["operations"]["all"] < meshes[0]["operations"]["all"]);
  CHECK(meshes[1]["operations"]["least"] < meshes[1]["operations"]["all"]);
}

TEST_CASE("plan times a device's share") {
  const JobFolder folder;
  CHECK(std::regex_search(
      output(folder, "plan c.yaml --mesh 4x2 --time"),
      std::regex("\nA step takes [0-9.]+ [mu]?s to [0-9.]+ [mu]?s: [0-9,]+ to [0-9,]+ samples/s\n"
                 " +[0-9.]+ [mu]?s  computes: measured here, device 0 alone, with [a-z0-9]+ "
                 "threads?\n +[0-9.]+ us  sends, at 10 GB/s \\(--link\\)")));
  const Json time = json_of(folder, "plan c.yaml --time --link 0.5 --json");
  CHECK(time["seconds"]["link"] == 0.5e9);
  CHECK(time["seconds"]["sends"] == doctest::Approx(234.0 / 0.5e9));
  CHECK(time["seconds"]["computes"] > 0);
}

TEST_CASE("plan says what it cannot plan") {
  const JobFolder folder;
  CHECK(complaint(folder, "plan c.yaml --link 0", 2) == "--link must be more than 0 GB/s, not 0");
  CHECK(complaint(folder, "plan c.yaml --meshes 2x1,,1x2", 2) ==
        "--meshes: '2x1,,1x2' names a mesh without sizes; separate meshes by one comma: 8x1,4x2");
  CHECK(complaint(folder, "plan c.yaml --meshes 2x2,3", 2) ==
        "command line: '--mesh 3': gives 1 size, but the mesh at c.yaml:1:7 has 2 (data, model); "
        "give as many, or name the axes");
  CHECK(complaint(folder, "plan c.yaml compile=null", 2) ==
        "c.yaml: no 'compile:' section; plan compiles training steps, for which it needs "
        "data and 'compile:'");
  CHECK(complaint(folder, "plan c.yaml dataset=no_such", 2).find("no_such") != std::string::npos);
}

TEST_CASE("max_replicated refuses weights that no rule has split") {
  const JobFolder folder;
  // Of 68 numbers 5 are whole: the bias of d2.
  output(folder, "validate c.yaml max_replicated=0.08");
  CHECK(complaint(folder, "validate c.yaml max_replicated=0.05", 2) ==
        "command line: 'max_replicated=0.05': max_replicated is 0.05, but 0.074 of the weights' "
        "bytes are whole on each of 4 devices: 'd2/bias' (20.00 B); lay them out in layout_map, or "
        "allow more");
  CHECK(complaint(folder, "fit c.yaml max_replicated=0 layout_map=null", 2) ==
        "command line: 'max_replicated=0': max_replicated is 0, but 1 of the weights' bytes are "
        "whole on each of 4 devices: 'd2/kernel' (140.00 B), 'd1/kernel' (84.00 B), 'd1/bias' "
        "(28.00 B) and 1 other; lay them out in layout_map, or allow more");
  output(folder, "validate c.yaml max_replicated=0 layout_map=null --mesh 1x1");
  output(folder, "suggest c.yaml max_replicated=0 layout_map=null");
}

TEST_CASE("an axis along which nothing is split is told") {
  const JobFolder folder;
  const std::string note =
      "note: command line: '--mesh data=2,model=2,spare=3': mesh: nothing is split along 'spare': "
      "the devices along it all compute the same; lay something out along it (layout_map), or "
      "leave it out\n";
  CHECK(output(folder, "plan c.yaml --mesh data=2,model=2,spare=3").find(note) !=
        std::string::npos);
  CHECK(output(folder, "validate c.yaml --mesh data=2,model=2,spare=3").find(note) !=
        std::string::npos);
  CHECK(output(folder, "validate c.yaml --mesh data=2,model=2,spare=1").find("note:") ==
        std::string::npos);
  CHECK(output(folder, "plan c.yaml").find("note:") == std::string::npos);
}
