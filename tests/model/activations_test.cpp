#include "model/activations/activation.h"

#include <doctest/doctest.h>

#include <cmath>
#include <set>

#include "backend/backend.h"
#include "base/error.h"
#include "config/yaml.h"
#include "ops/ops.h"
#include "support/interpreter.h"

using namespace meshwork;

namespace {

const std::vector<float> kX = {-7, -2.5F, -1, -0.3F, -1e-4F, 0, 0.4F, 1, 3.5F, 8};

struct Golden {
  const char* activation;
  std::vector<double> y;
};

// Keras 3.15.1 on JAX for the row kX.
const std::vector<Golden> kGolden = {
    {"celu", {-0.9990881, -0.917915, -0.6321206, -0.2591818, -9.9995e-05, 0, 0.4, 1, 3.5, 8}},
    {"elu", {-0.9990881, -0.917915, -0.6321206, -0.2591818, -9.9995e-05, 0, 0.4, 1, 3.5, 8}},
    {"exponential",
     {0.000911882, 0.082085, 0.3678794, 0.7408182, 0.9999, 1, 1.491825, 2.718282, 33.11545,
      2980.958}},
    {"gelu",
     {-8.958688e-12, -0.01552416, -0.1586553, -0.1146266, -4.999601e-05, 0, 0.2621687, 0.8413447,
      3.499186, 8}},
    {"glu", {-3.5, -1.496719, -0.7310586, -0.2912063, -9.996646e-05}},
    {"hard_shrink", {-7, -2.5, -1, 0, 0, 0, 0, 1, 3.5, 8}},
    {"hard_sigmoid", {0, 0.08333334, 0.3333333, 0.45, 0.4999834, 0.5, 0.5666667, 0.6666667, 1, 1}},
    {"hard_silu",
     {-0, -0.2083333, -0.3333333, -0.135, -4.999834e-05, 0, 0.2266667, 0.6666667, 3.5, 8}},
    {"hard_tanh", {-1, -1, -1, -0.3, -0.0001, 0, 0.4, 1, 1, 1}},
    {"leaky_relu", {-1.4, -0.5, -0.2, -0.06, -2e-05, 0, 0.4, 1, 3.5, 8}},
    {"linear", {-7, -2.5, -1, -0.3, -0.0001, 0, 0.4, 1, 3.5, 8}},
    {"log_sigmoid",
     {-7.000911, -2.57889, -1.313262, -0.8543553, -0.6931972, -0.6931472, -0.5130153, -0.3132617,
      -0.02975042, -0.0003354064}},
    {"log_softmax",
     {-15.0135, -10.5135, -9.0135, -8.3135, -8.0136, -8.0135, -7.613501, -7.013501, -4.513501,
      -0.01350046}},
    {"mish",
     {-0.006380263, -0.1968162, -0.3034014, -0.1511332, -5.99968e-05, 0, 0.2890306, 0.8650985,
      3.493991, 8}},
    {"relu", {0, 0, 0, 0, 0, 0, 0.4, 1, 3.5, 8}},
    {"relu6", {0, 0, 0, 0, 0, 0, 0.4, 1, 3.5, 6}},
    {"selu",
     {-1.756496, -1.613786, -1.111331, -0.4556673, -0.0001758011, 0, 0.4202804, 1.050701, 3.677454,
      8.405608}},
    {"sigmoid",
     {0.0009110512, 0.07585818, 0.2689414, 0.4255575, 0.499975, 0.5, 0.5986876, 0.7310586,
      0.9706877, 0.9996647}},
    {"silu",
     {-0.006377358, -0.1896454, -0.2689414, -0.1276672, -4.99975e-05, 0, 0.2394751, 0.7310586,
      3.397407, 7.997317}},
    {"soft_shrink", {-6.5, -2, -0.5, 0, 0, 0, 0, 0.5, 3, 7.5}},
    {"softmax",
     {3.018002e-07, 2.716719e-05, 0.0001217549, 0.0002451843, 0.000330931, 0.0003309642,
      0.0004937405, 0.0008996539, 0.01096003, 0.9865903}},
    {"softplus",
     {0.0009114665, 0.07888974, 0.3132617, 0.5543553, 0.6930972, 0.6931472, 0.9130152, 1.313262,
      3.52975, 8.000336}},
    {"softsign",
     {-0.875, -0.7142857, -0.5, -0.2307692, -9.999e-05, 0, 0.2857143, 0.5, 0.7777778, 0.8888889}},
    {"sparse_plus", {0, 0, 0, 0.1225, 0.24995, 0.25, 0.49, 1, 3.5, 8}},
    {"sparse_sigmoid", {0, 0, 0, 0.35, 0.49995, 0.5, 0.7, 1, 1, 1}},
    {"sparsemax", {0, 0, 0, 0, 0, 0, 0, 0, 0, 1}},
    {"squareplus",
     {0.1400549, 0.3507811, 0.618034, 0.8611875, 0.99995, 1, 1.219804, 1.618034, 3.765564,
      8.123106}},
    {"tanh",
     {-0.9999983, -0.9866143, -0.7615942, -0.2913126, -0.0001, 0, 0.379949, 0.7615942, 0.9981779,
      1}},
    {"tanh_shrink",
     {-6.000002, -1.513386, -0.2384058, -0.008687407, 0, 0, 0.020051, 0.2384058, 2.501822, 7}},
    {"relu: {negative_slope: 0.1, max_value: 3.0, threshold: 0.5}",
     {-0.75, -0.3, -0.15, -0.08000001, -0.05001, -0.05, -0.01, 1, 3, 3}},
    {"relu: {negative_slope: 0.1}", {-0.7, -0.25, -0.1, -0.03, -1e-05, 0, 0.4, 1, 3.5, 8}},
    {"relu: {threshold: -2.0, max_value: 1.0}", {0, 0, 0, 0, 0, 0, 0.4, 1, 1, 1}},
    {"relu: {threshold: -2.0, max_value: 1.0, negative_slope: 0.1}",
     {-0.5, -0.05, 0, 0, 0, 0, 0.4, 1, 1, 1}},
    {"relu: {threshold: -2.0}", {0, 0, -1, -0.3, -1e-4, 0, 0.4, 1, 3.5, 8}},
    {"relu: {max_value: 6.0}", {0, 0, 0, 0, 0, 0, 0.4, 1, 3.5, 6}},
    {"gelu: {approximate: true}",
     {-0, -0.0150843, -0.158808, -0.1146291, -4.999601e-05, 0, 0.2621612, 0.841192, 3.499384, 8}},
    {"celu: {alpha: 2.0}",
     {-1.939605, -1.42699, -0.7869387, -0.278584, -9.999749e-05, 0, 0.4, 1, 3.5, 8}},
    {"elu: {alpha: 0.5}",
     {-0.4995441, -0.4589575, -0.3160603, -0.1295909, -4.99975e-05, 0, 0.4, 1, 3.5, 8}},
    {"threshold: {threshold: 0.5, default_value: -1.0}", {-1, -1, -1, -1, -1, -1, -1, 1, 3.5, 8}},
    {"squareplus: {b: 1.0}",
     {0.0355339, 0.09629118, 0.2071068, 0.3720153, 0.49995, 0.5, 0.7385164, 1.207107, 3.570027,
      8.031129}},
    {"leaky_relu: {negative_slope: 0.5}", {-3.5, -1.25, -0.5, -0.15, -5e-05, 0, 0.4, 1, 3.5, 8}},
    {"hard_shrink: {threshold: 1.0}", {-7, -2.5, 0, 0, 0, 0, 0, 0, 3.5, 8}},
    {"soft_shrink: {threshold: 1.0}", {-6, -1.5, 0, 0, 0, 0, 0, 0, 2.5, 7}},
};

std::vector<double> apply(const std::string& text) {
  Graph graph;
  GraphBuilder b(graph);
  const config::Value spec = config::parse_yaml(text, "c.yaml");
  const TensorType type{DType::kFloat32, {1, static_cast<std::int64_t>(kX.size())}};
  const ValueId y = read_activation(&spec)(b, ops::input(b, "x", type));
  verify(graph);
  const auto backend = make_reference_backend();
  Interpreter run(graph, *backend);
  run.feed("x", host_tensor(type.shape, kX));
  run.run();
  return to_doubles(run.read(y));
}

}  // namespace

TEST_CASE("activations give Keras's numbers") {
  for (const Golden& golden : kGolden) {
    INFO(golden.activation);
    const std::vector<double> y = apply(golden.activation);
    REQUIRE(y.size() == golden.y.size());
    for (std::size_t i = 0; i < y.size(); ++i) {
      INFO("at ", kX[i]);
      CHECK(std::abs(y[i] - golden.y[i]) <= 3e-6 * (0.1 + std::abs(golden.y[i])));
    }
  }
}

TEST_CASE("every activation has golden numbers") {
  std::set<std::string> tested;
  for (const Golden& golden : kGolden) {
    const std::string text = golden.activation;
    tested.insert(text.substr(0, text.find(':')));
  }
  for (const ActivationDef* def : activation_registry()) {
    CHECK_MESSAGE(tested.count(std::string(def->names[0])) == 1, def->names[0]);
  }
}

TEST_CASE("other spellings are the same") {
  CHECK(apply("swish") == apply("silu"));
  CHECK(apply("hard_swish") == apply("hard_silu"));
}

TEST_CASE("an absent activation is linear; arguments are checked") {
  Graph graph;
  GraphBuilder b(graph);
  const ValueId x = ops::input(b, "x", {DType::kFloat32, {1, 2}});
  CHECK(read_activation(nullptr)(b, x) == x);
  CHECK_THROWS_WITH_AS(apply("LeakyReLU: {negative_slope: 0.1}"),
                       "c.yaml:1:1: activation LeakyReLU is a layer; write leaky_relu: "
                       "{negative_slope: 0.3}, or put it behind this one",
                       Error);
  CHECK_THROWS_WITH_AS(apply("PReLU"),
                       "c.yaml:1:1: activation PReLU is a layer; put it behind this one", Error);
  CHECK_THROWS_WITH_AS(apply("relu: {max_valu: 6}"),
                       "c.yaml:1:8: activation relu has no key 'max_valu'; nearest: 'max_value'",
                       Error);
  CHECK_THROWS_WITH_AS(apply("celu: {alpha: 0}"),
                       "c.yaml:1:15: activation celu: alpha is 0; give more than 0", Error);
}
