// meshwork data: what a data set holds.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "cli/job_folder.h"

using namespace meshwork::cli;
using Json = nlohmann::json;

namespace {

constexpr const char* kFlowers = R"(format: csv
splits: {train: flowers.csv}
x: {columns: [width, length]}
y: {columns: kind, classes: [rose, tulip]}
)";

constexpr const char* kTable = "kind,length,width\nrose,1,10\ntulip,2,10\nrose,6,10\n";

}  // namespace

TEST_CASE("data tells of a description what it holds and how to normalize it") {
  const JobFolder folder;
  folder.write("flowers.yaml", kFlowers);
  folder.write("flowers.csv", kTable);
  CHECK(output(folder, "data flowers.yaml") ==
        "train: 3 samples, x float32 [2], y int32 []\n"
        "  x, stored as float64\n"
        "                    mean          std        least     greatest\n"
        "    width             10            0           10           10\n"
        "    length             3      2.16025            1            6\n"
        "    to normalize: x: {mean: [10, 3], std: [1, 2.16025]}\n"
        "  y, stored as int32\n"
        "    2 different: rose (2), tulip (1)\n");
  const Json json = Json::parse(output(folder, "data flowers.yaml dataset.take=2 --json"));
  CHECK(json["train"]["samples"] == 2);
  const Json& length = json["train"]["fields"]["x"]["channels"][1];
  CHECK(length["name"] == "length");
  CHECK(length["mean"] == 1.5);
  CHECK(json["train"]["fields"]["y"]["counts"] == Json{{"0", 1}, {"1", 1}});
}

TEST_CASE("data reads the data set of a configuration, whose model may be missing") {
  const JobFolder folder;
  const std::string all = output(folder, "data c.yaml");
  CHECK(all.find("train: 20 samples, x float32 [3], y int32 []\n") == 0);
  CHECK(all.find("\ntest: 7 samples") != std::string::npos);
  CHECK(output(folder, "data c.yaml --split test model=null").find("test: 7 samples") == 0);
  CHECK(folder.run("data c.yaml --split tests")
            .err.find("has no split 'tests'; it has train, test") != std::string::npos);
  CHECK(complaint(folder, "data c.yaml dataset=null", 2).find("c.yaml: no dataset; give a ") !=
        std::string::npos);
}
