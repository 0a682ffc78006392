// Ten steps of training against those of Keras in tests/fixtures, for every case there
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <span>

#include "autodiff/gradients.h"
#include "backend/backend.h"
#include "model/model.h"
#include "optim/optimizer.h"
#include "support/interpreter.h"
#include "support/npz.h"

using namespace meshwork;

namespace {

const std::string kFolder = "tests/fixtures/";
// Ten steps amplify the last digits of sums in other orders; Adam divides small by small.
constexpr double kTolerance = 2e-5;

/// Of the cases in a folder of the fixtures, "" or one that ends in a slash.
std::vector<std::string> case_names(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& file : std::filesystem::directory_iterator(kFolder + folder)) {
    if (file.path().extension() == ".yaml") names.push_back(folder + file.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// Rows [begin, end) of a tensor.
HostTensor rows(const HostTensor& tensor, std::int64_t begin, std::int64_t end) {
  Shape shape = tensor.type.shape;
  Shape offset(shape.size(), 0);
  shape[0] = end - begin;
  offset[0] = begin;
  return cut(tensor, offset, shape);
}

Field field_of(const std::string& name, const HostTensor& tensor) {
  const Shape& shape = tensor.type.shape;
  return {name, tensor.type.dtype, {shape.begin() + 1, shape.end()}};
}

Graph training_step(const config::Config& config, const Signature& signature, std::int64_t batch,
                    bool updates) {
  Graph graph = build_model(config, signature, Mode::kTrain, batch);
  GraphBuilder b(graph);
  std::vector<ValueId> weights;
  for (const Variable& variable : graph.variables) weights.push_back(variable.value);
  const ValueId scale = loss_scale(b, config.compile->optimizer);
  const std::vector<ValueId> found = gradients(b, output_value(graph, "loss"), weights, scale);
  std::vector<Update> list;
  for (std::size_t i = 0; i < found.size(); ++i) list.push_back({weights[i], found[i]});
  (updates ? add_optimizer : add_accumulation)(b, config.compile->optimizer, list);
  verify(graph);
  return graph;
}

struct Training {
  std::map<std::string, HostTensor> variables;
  std::map<std::string, std::vector<double>> logs;  ///< "loss" and metrics by step
  std::vector<double> scales;                       ///< of the loss, after each step
};

void feed_number(Interpreter& run, const Graph& graph, const std::string& name, double value) {
  for (ValueId id = 0; id < static_cast<ValueId>(graph.nodes.size()); ++id) {
    const Node& node = graph.node(id);
    if (node.op->name != "input" || node.attrs.text("name") != name) continue;
    HostTensor tensor = host_tensor(node.type);
    if (node.type.dtype == DType::kInt64) {
      tensor.as<std::int64_t>()[0] = static_cast<std::int64_t>(value);
    } else {
      tensor.as<float>()[0] = static_cast<float>(value);
    }
    run.feed(id, tensor);
  }
}

/// The fields of a batch by their names.
using Fields = std::map<std::string, HostTensor>;

void train_step(const Graph& graph, std::span<const LoggedValue> metrics, Backend& backend,
                const Fields& fields, double rate, double step, Training& training) {
  Interpreter run(graph, backend);
  run.initialize();
  for (const Variable& variable : graph.variables) {
    const auto known = training.variables.find(variable.path);
    if (known != training.variables.end()) run.feed(known->first, known->second);
  }
  for (const auto& [name, value] : fields) run.feed(name, value);
  feed_number(run, graph, "learning_rate", rate);
  feed_number(run, graph, "iteration", step);
  run.run();
  training.logs["loss"].push_back(to_doubles(run.read("loss"))[0]);
  for (const LoggedValue& logged : metrics) {
    training.logs[logged.name].push_back(
        logged.of(std::vector{to_doubles(run.read(logged.name + "/total"))[0],
                              to_doubles(run.read(logged.name + "/count"))[0]}));
  }
  run.update();
  for (const Variable& variable : graph.variables) {
    training.variables[variable.path] = run.read(variable.value);
  }
  const auto scale = training.variables.find("loss_scale_optimizer/dynamic_scale");
  if (scale != training.variables.end()) {
    training.scales.push_back(to_doubles(scale->second)[0]);
  }
}

Training train(const std::string& name, Backend& backend) {
  const std::string npz = kFolder + name + ".npz";
  const config::Config config = config::load_config(kFolder + name + ".yaml", {});
  Fields data;
  Signature signature;
  for (const char* field : {"x", "y", "sample_weight"}) {
    if (!npz_names(npz, field).empty()) data[field] = read_npz(npz, field);
  }
  signature.inputs = {field_of("x", data.at("x"))};
  if (!config.compile->loss) data.erase("y");  // the model adds its own, and reads no labels
  if (data.contains("y")) signature.label = field_of("y", data.at("y"));
  if (data.contains("sample_weight")) {
    signature.sample_weight = field_of("sample_weight", data.at("sample_weight"));
  }
  Training training;
  for (const std::string& array : npz_names(npz, "initial/")) {
    training.variables[array.substr(8)] = read_npz(npz, array);
  }
  const Schedule rate = learning_rate_of(config.compile->optimizer);
  const std::int64_t per_update = steps_per_update(config.compile->optimizer);
  const std::vector<LoggedValue> logged = logged_values(config);
  const std::span metrics = std::span(logged).subspan(1);  // the first is the loss
  const std::int64_t samples = data.at("x").type.shape[0];
  for (std::int64_t begin = 0, step = 0; begin < samples; ++step) {
    const std::int64_t end = std::min(begin + config.fit.batch_size, samples);
    const bool updates = (step + 1) % per_update == 0;
    const Graph graph = training_step(config, signature, end - begin, updates);
    Fields batch;
    for (const auto& [name, field] : data) batch[name] = rows(field, begin, end);
    train_step(graph, metrics, backend, batch, rate(step), static_cast<double>(step), training);
    begin = end;
  }
  return training;
}

void check_numbers(const std::vector<double>& found, const std::vector<double>& expected) {
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    INFO("step ", i);
    CHECK(found[i] == doctest::Approx(expected[i]).epsilon(kTolerance));
  }
}

void check_case(const std::string& name, const Training& training) {
  const std::string npz = kFolder + name + ".npz";
  check_numbers(training.logs.at("loss"), to_doubles(read_npz(npz, "losses")));
  CHECK(npz_names(npz, "scales").size() == (training.scales.empty() ? 0 : 1));
  if (!training.scales.empty()) check_numbers(training.scales, to_doubles(read_npz(npz, "scales")));
  for (const std::string& array : npz_names(npz, "metric/")) {
    INFO(array);
    check_numbers(training.logs.at(array.substr(7)), to_doubles(read_npz(npz, array)));
  }
  for (const char* prefix : {"final/", "slot/"}) {
    for (const std::string& array : npz_names(npz, prefix)) {
      INFO(array);
      const auto found = training.variables.find(array.substr(std::string(prefix).size()));
      REQUIRE(found != training.variables.end());
      CHECK(difference(found->second, read_npz(npz, array), kTolerance) == "");
    }
  }
}

void check_cases(const std::string& folder, std::size_t least) {
  const std::vector<std::string> names = case_names(folder);
  CHECK(names.size() >= least);
  const auto naive = make_reference_backend();
  const auto fast = make_cpu_backend(1);
  for (Backend* backend : {naive.get(), fast.get()}) {
    for (const std::string& name : names) {
      INFO(name, " on ", backend->device().target().name);
      check_case(name, train(name, *backend));
    }
  }
}

}  // namespace

TEST_CASE("ten steps give Keras's losses, metrics, weights and optimizer state") {
  check_cases("", 40);
}

TEST_CASE("ten steps on sequences with padding give Keras's losses, metrics and weights") {
  check_cases("sequences/", 11);
}
