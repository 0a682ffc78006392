// meshwork data: what a data set holds.
#include <doctest/doctest.h>

#include <cmath>
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

TEST_CASE("data gives the mean of large numbers as exactly as their deviation asks for") {
  const JobFolder folder;
  folder.write("times.yaml",
               "format: csv\nsplits: {train: t.csv}\nx: {columns: [t, T]}\n"
               "y: {columns: T, one_hot: 2}\n");
  folder.write("t.csv", "t,T\n1700000000,0\n1700000600,1\n1700001200,1\n");
  const std::string all = output(folder, "data times.yaml");
  CHECK(all.find("mean: [1700000600, 0.666667], std: [489.898, 0.471405]") != std::string::npos);
  CHECK(all.find("to normalize: y") == std::string::npos);
}

TEST_CASE("data calls channels by columns, and numbers by classes") {
  const JobFolder folder;
  folder.write("n.yaml", "format: csv\nsplits: {train: n.csv}\nx: {columns: a}\n");
  folder.write("n.csv", "a,kind,other\n1,0,no\n2,1,yes\n3,0,no\n");
  const auto labels = [&](const std::string& y) {
    const std::string all = output(folder, "data n.yaml 'dataset.y={" + y + "}'");
    return all.substr(all.find("  y, stored"));
  };
  CHECK(labels("columns: kind, dtype: int32") ==
        "  y, stored as float64\n"
        "    2 different: 0 (2), 1 (1)\n");
  CHECK(labels("columns: other, classes: [no, yes]") ==
        "  y, stored as int32\n    2 different: no (2), yes (1)\n");
  const std::string floats = labels("columns: [other, other], classes: [no, yes], dtype: float32");
  CHECK(floats.find("    0      0.333333") != std::string::npos);
  CHECK(floats.find("no") == floats.find("normalize"));
}

TEST_CASE("data says what it does not know") {
  const JobFolder folder;
  folder.write("n.yaml", "format: npy\nsplits: {train: {x: n.npy}}\n");
  std::string bytes("\x93NUMPY\x01\0\x76\0", 10);
  bytes += "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }";
  bytes.resize(128, ' ');
  for (const float number : {NAN, 1.0F, NAN, 3.0F}) {
    bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
  }
  folder.write("n.npy", bytes);
  const std::string numbers = output(folder, "data n.yaml");
  CHECK(numbers.find("\n    0  none of 2 numbers is finite\n    1             2") !=
        std::string::npos);
  CHECK(numbers.find("to normalize") == std::string::npos);
  const Json json = Json::parse(output(folder, "data n.yaml --json"));
  CHECK(json["train"]["fields"]["x"]["channels"][0]["mean"].is_null());

  folder.write("t.yaml", "format: tokens\ncontext: 2\nsplits: {train: t.bin}\n");
  folder.write("t.bin", std::string(10, '\0'));
  CHECK(output(folder, "data t.yaml").find("\n    numbers of tokens\n") != std::string::npos);
}

TEST_CASE("data to predict on may lack labels") {
  const JobFolder folder;
  folder.write("flowers.yaml", kFlowers);
  folder.write("flowers.csv", kTable);
  folder.write("new.csv", "length,width\n3,10\n");
  const std::string new_rows = "'dataset.splits={train: flowers.csv, test: new.csv}'";
  const std::string all = output(folder, "data flowers.yaml " + new_rows);
  CHECK(all.find("\ntest: 1 samples, x float32 [2]\n") != std::string::npos);
  CHECK(all.find("\n  no labels: flowers.yaml:4:14: no column 'kind' in ") != std::string::npos);
  CHECK(complaint(folder, "data flowers.yaml dataset.splits.train=new.csv", 3)
            .find("no column 'kind' in ") != std::string::npos);
}

TEST_CASE("data reads the data set of a configuration, whose model may be missing") {
  const JobFolder folder;
  const std::string all = output(folder, "data c.yaml");
  CHECK(all.find("train: 20 samples, x float32 [3], y int32 []\n") == 0);
  CHECK(all.find("\ntest: 7 samples") != std::string::npos);
  CHECK(output(folder, "data c.yaml --split test model=null").find("test: 7 samples") == 0);
  CHECK(folder.run("data c.yaml --split tests")
            .err.find("has no split 'tests'; it has train, test") != std::string::npos);
  folder.write("d.yaml", "format: csv\nsplits: {train: t.csv}\n");
  CHECK(complaint(folder, "data d.yaml take=5", 2)
            .find("command line: 'take=5': d.yaml describes a dataset; write dataset.take=..") !=
        std::string::npos);
  CHECK(complaint(folder, "data c.yaml dataset=null", 2).find("c.yaml: no dataset; give a ") !=
        std::string::npos);
}
