#include <doctest/doctest.h>

#include "config/config_text.h"

using namespace meshwork::config;
using Dims = std::vector<std::vector<std::string>>;
using Names = std::vector<std::string>;

namespace {

const std::string kFile = R"(mesh: {data: 2, model: 4}
layout_map:
  d1/kernel: [null, model]
  d.*/bias: [model]
model:
  input: [4]
  layers:
    - Flatten:
    - Dense: {name: d1, units: 200}
    - Dropout
    - Dense: {name: d1.b, units: 10}
compile: {optimizer: {Adam: {learning_rate: 0.001}}, loss: mse, metrics: [accuracy, {TopK: {k: 5}}]}
fit: {epochs: 3}
)";

Config with(const std::vector<std::string>& assignments) { return parse(kFile, assignments); }

std::string error(const std::vector<std::string>& assignments) {
  return parse_error(kFile, assignments);
}

std::int64_t units(const Config& config, std::size_t layer) {
  return config.model.layers.at(layer).layer.args.find("units")->value.as_integer("units");
}

}  // namespace

TEST_CASE("an assignment changes a key or makes it") {
  CHECK(with({"fit.epochs=7"}).fit.epochs == 7);
  CHECK(with({"fit.epochs=7", "fit.epochs=8"}).fit.epochs == 8);
  CHECK(with({"seed=99"}).seed == 99);
  CHECK(with({"fit.batch_size=5"}).fit.epochs == 3);
  CHECK(with({"fit={batch_size: 5}"}).fit.epochs == 1);
  CHECK(with({"run_directory=a=b"}).run_directory == "a=b");
  CHECK(parse(kModel, {"fit.epochs=7"}).fit.epochs == 7);
  CHECK(parse(kModel + "fit:\n", {"fit.epochs=7"}).fit.epochs == 7);
}

TEST_CASE("null removes a key") {
  CHECK(with({"fit.epochs=null"}).fit.epochs == 1);
  CHECK(with({"layout_map.d1/kernel=null"}).layout_map.size() == 1);
  CHECK(with({"layout_map=null"}).strategy == Strategy::kDataParallel);
  CHECK(!with({"compile=~"}).compile.has_value());
  CHECK(with({"fit.batch_size=null"}).fit.batch_size == 32);
}

TEST_CASE("a parameter of the model becomes null, as an argument that is left out") {
  const Config config =
      with({"model.params={rate: 0.5}", "model.layers.2.rate=$rate", "model.params.rate=null"});
  CHECK(config.model.layers[2].layer.args.find("rate")->value.is_null());
  CHECK(with({"model.params={rate: 0.5}", "model.params=null"}).model.layers.size() == 4);
}

TEST_CASE("layers go by name and by number, with or without their class") {
  CHECK(units(with({"model.layers.d1.units=300"}), 1) == 300);
  CHECK(units(with({"model.layers.1.units=300"}), 1) == 300);
  CHECK(units(with({"model.layers.1.Dense.units=300"}), 1) == 300);
  CHECK(units(with({"model.layers.d1.b.units=300"}), 3) == 300);
  const Config dropout = with({"model.layers.2.rate=0.5"});
  CHECK(dropout.model.layers[2].layer.name == "Dropout");
  CHECK(dropout.model.layers[2].layer.args.find("rate")->value.as_real("rate") == 0.5);
  CHECK(with({"model.layers.0.data_format=x"}).model.layers[0].layer.args.keys() ==
        Names{"data_format"});
  const Config replaced = with({"model.layers.d1={Dense: {units: 1}}"});
  CHECK(replaced.model.layers[1].name == "dense");
  CHECK(units(replaced, 1) == 1);
  const Config removed = with({"model.layers.d1=null"});
  REQUIRE(removed.model.layers.size() == 3);
  CHECK(removed.model.layers[1].layer.name == "Dropout");
}

TEST_CASE("what follows an optimizer, loss or metric addresses its arguments") {
  const Config rate = with({"compile.optimizer.learning_rate=0.5"});
  CHECK(rate.compile->optimizer.name == "Adam");
  CHECK(rate.compile->optimizer.args.find("learning_rate")->value.as_real("x") == 0.5);
  const Config sgd =
      with({"compile.optimizer.SGD.momentum=0.9", "compile.optimizer.nesterov=true"});
  CHECK(sgd.compile->optimizer.name == "SGD");
  CHECK(sgd.compile->optimizer.args.keys() == Names{"momentum", "nesterov"});
  CHECK(with({"compile.optimizer=sgd"}).compile->optimizer.name == "sgd");
  CHECK(with({"compile.optimizer.Adam=null"}).compile->optimizer.args.is_null());
  CHECK(with({"compile.loss.reduction=sum"}).compile->loss->name == "mse");
  CHECK(with({"compile.loss.reduction=sum"}).compile->loss->args.keys() == Names{"reduction"});
  const auto metrics = [](const std::string& assignment) {
    return with({assignment}).compile->objectives[0].metrics;
  };
  CHECK(metrics("compile.metrics.1.k=3")[1].args.find("k")->value.scalar == "3");
  CHECK(metrics("compile.metrics.0=null").size() == 1);
}

TEST_CASE("patterns of layout maps are keys with points") {
  CHECK(with({"layout_map.d1/kernel=[model, null]"}).layout_map[0].dims == Dims{{"model"}, {}});
  CHECK(with({"layout_map.d1/kernel.0=data"}).layout_map[0].dims == Dims{{"data"}, {"model"}});
  CHECK(with({"layout_map.d1/kernel.1=null"}).layout_map[0].dims == Dims{{}, {}});
  CHECK(with({"layout_map.d.*/bias=[data]"}).layout_map[1].dims == Dims{{"data"}});
  for (const char* assignment :
       {"layout_map.\"x.y/k\"=[null, model]", "layout_map.'x.y/k'=[null, model]",
        "layout_map.x.y/k=[null, model]"}) {
    const Config config = with({assignment});
    REQUIRE(config.layout_map.size() == 3);
    CHECK(config.layout_map[2].pattern == "x.y/k");
    CHECK(config.layout_map[2].dims == Dims{{}, {"model"}});
  }
  CHECK(with({"layout_map.\"a(?=b)\"=[]"}).layout_map[2].pattern == "a(?=b)");
}

TEST_CASE("errors name the assignment") {
  CHECK(error({"fit.epoch=3"}) ==
        "command line: 'fit.epoch=3': fit has no key 'epoch'; nearest: 'epochs'");
  CHECK(error({"fit.epoch=null"}) ==
        "command line: 'fit.epoch=null': fit has no key 'epoch'; nearest: 'epochs'");
  CHECK(error({"epochs=7"}) ==
        "command line: 'epochs=7': the configuration has no key 'epochs'; there is 'fit.epochs'");
  CHECK(error({"fti.epochs=3"}) ==
        "command line: 'fti.epochs=3': the configuration has no key "
        "'fti'; nearest: 'fit'");
  CHECK(error({"fit.epochs=three"}) ==
        "command line: 'fit.epochs=three': epochs must be an integer, not 'three'");
  CHECK(error({"fit.epochs.x=3"}) ==
        "command line: 'fit.epochs.x=3': fit.epochs is '3'; it has no keys");
  CHECK(error({"mesh.model=0"}) ==
        "command line: 'mesh.model=0': mesh axis 'model': size is 0; "
        "give at least 1, or -1 for all that is left");
  CHECK(error({"layout_map.d1/kernel=[null, modl]"}) ==
        "command line: 'layout_map.d1/kernel=[null, modl]': layout_map: 'd1/kernel': the mesh "
        "(data=2, model=4) has no axis 'modl'; nearest: 'model'");
  CHECK(error({"layout_map.d1/kernal=null"}) ==
        "command line: 'layout_map.d1/kernal=null': layout_map has no key 'd1/kernal' to remove; "
        "nearest: 'd1/kernel'");
  CHECK(error({"model.layers.d2.units=3"}) ==
        "command line: 'model.layers.d2.units=3': model.layers has no element 'd2'; it has 4, "
        "counted from 0; nearest: 'd1'");
  CHECK(
      error({"model.layers.4.units=3"}) ==
      "command line: 'model.layers.4.units=3': model.layers has no element '4'; it has 4, counted "
      "from 0; known: 'd1', 'd1.b'");
  CHECK(error({"model.layers.-1=null"}) ==
        "command line: 'model.layers.-1=null': model.layers has no element '-1'; it has 4, counted "
        "from 0; nearest: 'd1'");
  CHECK(error({"model.params.depth=3"}) ==
        "command line: 'model.params.depth=3': model has no parameter 'depth'");
  CHECK(error({"model.params={width: 3}", "model.params.widht=4"}) ==
        "command line: 'model.params.widht=4': model has no parameter 'widht'; nearest: 'width'");
  CHECK(error({"model.params={width: 3}", "model.params.width=4"}).empty());
  CHECK(error({"model.params={width: 3}", "model.params.widht=null"})
            .ends_with("model has no parameter 'widht'; nearest: 'width'"));
  CHECK(error({"compile.metrics.99999999999999999999=x"}) ==
        "command line: 'compile.metrics.99999999999999999999=x': compile.metrics has no element "
        "'99999999999999999999'; it has 2, counted from 0");
}

TEST_CASE("a class that is not in the file needs its name") {
  const std::string file = kModel + "compile: {loss: mse}\n";
  const Config config = parse(file, {"compile.optimizer.Adam.learning_rate=0.1"});
  CHECK(config.compile->optimizer.name == "Adam");
  CHECK(config.compile->optimizer.args.keys() == Names{"learning_rate"});
  CHECK(
      parse_error(file, {"compile.optimizer.learning_rate=0.1"}) ==
      "command line: 'compile.optimizer.learning_rate=0.1': compile.optimizer is not in the file; "
      "name a class, too: compile.optimizer.Class.learning_rate=...");
}

TEST_CASE("errors of assignments that are none") {
  const std::string hint = "is no assignment; write key=value, such as fit.epochs=3";
  CHECK(error({"fit.epochs"}) == "command line: 'fit.epochs': " + hint);
  CHECK(error({"=3"}) == "command line: '=3': " + hint);
  CHECK(error({""}) == "command line: '': " + hint);
  CHECK(error({"fit.epochs="}) ==
        "command line: 'fit.epochs=': has no value; null removes the key, "
        "'\"\"' is an empty word");
  CHECK(error({"fit.=3"}) ==
        "command line: 'fit.=3': the path 'fit.' is broken near '.'; write a.b.c=value");
  CHECK(error({".fit=3"}) == "command line: '.fit=3': the path '.fit' has an empty part");
  CHECK(error({"fit..epochs=3"}) ==
        "command line: 'fit..epochs=3': the path 'fit..epochs' has an empty part");
  CHECK(
      error({"layout_map.\"a.b\"c=[]"}) ==
      "command line: 'layout_map.\"a.b\"c=[]': the path 'layout_map.\"a.b\"c' is broken near 'c'; "
      "write a.b.c=value");
  CHECK(error({"layout_map.\"a.b=[]"}) == "command line: 'layout_map.\"a.b=[]': " + hint);
  CHECK(error({"fit.epochs=[1"}) ==
        "command line: 'fit.epochs=[1': not valid YAML: end of sequence flow not found");
}
