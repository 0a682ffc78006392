// Normalization without numbers of the file: fit gives it those of the data.
#include "whole_runs.h"

using namespace meshwork;
using namespace meshwork::testing;
using namespace meshwork::testing::runs;

namespace {

constexpr int kRows = 13;

double first(int row) { return 1e6 + row * row; }
double second(int row) { return row % 3 == 0 ? -0.25 : 0.5; }

/// Columns of which one lies far from 0 and one is constant.
void write_table(const test::TempDirectory& dir) {
  std::string text = "a,b,c,y\n";
  for (int i = 0; i < kRows; ++i) {
    text += fmt::format("{},{},7,{}\n", first(i), second(i), i % 2);
  }
  test::write_text(dir.file("t.csv"), text);
}

std::string text_of(const test::TempDirectory& dir, const std::string& field,
                    const std::string& layers) {
  return fmt::format(R"(
mesh: {{data: 1, model: 1}}
layout_map: {{n/mean: [model], hidden/kernel: [null, model]}}
dataset: {{name: t, format: csv, splits: {{train: {}}}, x: {{{}}}, y: {{columns: y}}}}
model:
  input: [3]
  layers:
{}
    - Dense: {{name: hidden, units: 4, activation: tanh}}
    - Dense: {{name: out, units: 1}}
compile: {{optimizer: {{SGD: {{learning_rate: 0.01}}}}, loss: mse}}
fit: {{batch_size: 4, epochs: 2}}
)",
                     dir.file("t.csv"), field, layers);
}

/// With one mean for all columns.
std::string text_of_all(const test::TempDirectory& dir, const std::string& field) {
  std::string text = text_of(dir, field, "    - Normalization: {name: n, axis: null}");
  return text.replace(text.find("n/mean: [model], "), 17, "");
}

constexpr const char* kAlone = "    - Normalization: {name: n}";

struct Moments {
  double mean = 0;
  double variance = 0;
};

Moments moments_of(const std::function<double(int)>& number) {
  Moments moments;
  for (int i = 0; i < kRows; ++i) moments.mean += number(i) / kRows;
  for (int i = 0; i < kRows; ++i) {
    moments.variance += std::pow(number(i) - moments.mean, 2) / kRows;
  }
  return moments;
}

}  // namespace

TEST_CASE("fit begins a Normalization with mean and variance of the data, alike on every mesh") {
  const test::TempDirectory dir;
  write_table(dir);
  const std::string text = text_of(dir, "columns: [a, b, c]", kAlone);
  const Moments a = moments_of(first), b = moments_of(second);
  std::vector<float> means, variances;
  std::vector<double> losses;
  for (const std::string& mesh : kMeshes) {
    CAPTURE(mesh);
    const Outcome outcome = fit_on(text, mesh, dir.file("run"));
    REQUIRE(outcome.error == "");
    const std::string file = dir.file("run/final.safetensors");
    const std::vector<float> mean = weight_in(file, "n/mean");
    const std::vector<float> variance = weight_in(file, "n/variance");
    CHECK(mean == std::vector{static_cast<float>(a.mean), static_cast<float>(b.mean), 7.0F});
    CHECK(variance[0] == doctest::Approx(a.variance).epsilon(1e-6));
    CHECK(variance[1] == doctest::Approx(b.variance).epsilon(1e-6));
    CHECK(variance[2] == 0);
    if (means.empty()) std::tie(means, variances) = std::tie(mean, variance);
    CHECK(mean == means);
    CHECK(variance == variances);
    losses.push_back(outcome.result.logs.at("loss"));
    CHECK(losses.back() == doctest::Approx(losses.front()).epsilon(1e-5));
    CHECK(losses.back() < 1);
  }
}

TEST_CASE("a Normalization comes behind the mean and std of the field") {
  const test::TempDirectory dir;
  write_table(dir);
  const std::string field =
      "columns: [a, b, c], scale: 2, offset: 1, mean: [5, 6, 7], std: [4, 3, 2]";
  const Outcome outcome = fit_on(text_of(dir, field, kAlone), "3x1", dir.file("run"), 1);
  REQUIRE(outcome.error == "");
  const std::string file = dir.file("run/final.safetensors");
  const Moments a = moments_of([](int i) { return (first(i) * 2 + 1 - 5) / 4; });
  const Moments b = moments_of([](int i) { return (second(i) * 2 + 1 - 6) / 3; });
  CHECK(weight_in(file, "n/mean")[0] == doctest::Approx(a.mean).epsilon(1e-6));
  CHECK(weight_in(file, "n/mean")[1] == doctest::Approx(b.mean).epsilon(1e-6));
  CHECK(weight_in(file, "n/mean")[2] == 4);
  CHECK(weight_in(file, "n/variance")[0] == doctest::Approx(a.variance).epsilon(1e-6));
  CHECK(weight_in(file, "n/variance")[1] == doctest::Approx(b.variance).epsilon(1e-6));
  CHECK(outcome.out.find("note: n: mean and variance are those of 'x', 13 samples") !=
        std::string::npos);
}

TEST_CASE("a Normalization over all numbers has one mean") {
  const test::TempDirectory dir;
  write_table(dir);
  const Outcome outcome = fit_on(text_of_all(dir, "columns: [b, b, b]"), "2x1", dir.file("run"));
  REQUIRE(outcome.error == "");
  const Moments b = moments_of(second);
  const std::string file = dir.file("run/final.safetensors");
  CHECK(weight_in(file, "n/mean") == std::vector{static_cast<float>(b.mean)});
  CHECK(weight_in(file, "n/variance")[0] == doctest::Approx(b.variance).epsilon(1e-6));
}

TEST_CASE("one mean comes behind a mean and std for each column") {
  const test::TempDirectory dir;
  write_table(dir);
  const std::string field = "columns: [b, b, b], mean: [0, 1, -2], std: [1, 2, 5]";
  const Outcome outcome = fit_on(text_of_all(dir, field), "3x1", dir.file("run"));
  REQUIRE(outcome.error == "");
  const std::vector<Moments> columns{moments_of(second),
                                     moments_of([](int i) { return (second(i) - 1) / 2; }),
                                     moments_of([](int i) { return (second(i) + 2) / 5; })};
  Moments all;
  for (const Moments& column : columns) all.mean += column.mean / 3;
  for (const Moments& column : columns) {
    all.variance += (column.variance + std::pow(column.mean - all.mean, 2)) / 3;
  }
  const std::string file = dir.file("run/final.safetensors");
  CHECK(weight_in(file, "n/mean")[0] == doctest::Approx(all.mean).epsilon(1e-6));
  CHECK(weight_in(file, "n/variance")[0] == doctest::Approx(all.variance).epsilon(1e-6));
}

TEST_CASE("a Normalization behind one_hot stays as it is, and fit tells") {
  const test::TempDirectory dir;
  write_table(dir);
  const Outcome outcome =
      fit_on(text_of(dir, "columns: y, one_hot: 3", kAlone), "2x1", dir.file("run"), 1);
  REQUIRE(outcome.error == "");
  CHECK(outcome.out.find("note: n: mean stays 0 and variance 1") != std::string::npos);
  CHECK(weight_in(dir.file("run/final.safetensors"), "n/mean") == std::vector{0.0F, 0.0F, 0.0F});
}

TEST_CASE("weights of a file keep their mean and variance") {
  const test::TempDirectory dir;
  write_table(dir);
  const std::string text = text_of(dir, "columns: [a, b, c]", kAlone);
  REQUIRE(fit_on(text, "1x1", dir.file("first")).error == "");
  const std::string other = text_of(dir, "columns: [b, a, c]", kAlone);
  const std::string weights = dir.file("first/final.safetensors");
  const Outcome outcome =
      fit_on(other, "2x2", dir.file("second"), 1, {.from = weights, .rerun = Rerun::kOverwrite});
  REQUIRE(outcome.error == "");
  CHECK(weight_in(dir.file("second/final.safetensors"), "n/mean") == weight_in(weights, "n/mean"));
  CHECK(outcome.out.find("note: n:") == std::string::npos);
}

TEST_CASE("fit tells of a Normalization whose numbers the data do not decide") {
  const test::TempDirectory dir;
  write_table(dir);
  const std::string behind =
      "    - Rescaling: {name: r, scale: 0.5}\n    - Normalization: {name: n}";
  const Outcome outcome =
      fit_on(text_of(dir, "columns: [a, b, c]", behind), "2x1", dir.file("run"), 1);
  REQUIRE(outcome.error == "");
  CHECK(outcome.out.find("note: n: mean stays 0 and variance 1") != std::string::npos);
  const std::string file = dir.file("run/final.safetensors");
  CHECK(weight_in(file, "n/mean") == std::vector{0.0F, 0.0F, 0.0F});
  CHECK(weight_in(file, "n/variance") == std::vector{1.0F, 1.0F, 1.0F});
}
