// Steps that the loss scale leaves out because their loss is no number.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "state/checkpoint.h"
#include "whole_runs.h"

using namespace meshwork;
using namespace meshwork::testing::runs;
using meshwork::test::read_log;
using meshwork::test::TempDirectory;
using meshwork::test::write_text;

namespace {

constexpr const char* kPlain = "{SGD: {learning_rate: 0.05}}";

/// 20 rows of two numbers.
template <class Of>
void write_numbers(const std::string& path, const Of& number_of) {
  std::vector<float> rows;
  for (std::size_t i = 0; i < 20 * 2; ++i) rows.push_back(number_of(i));
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (20, 2), }";
  header.resize(117, ' ');
  std::string npy("\x93NUMPY\x01\0\x76\0", 10);
  npy += header + '\n';
  npy.append(reinterpret_cast<const char*>(rows.data()), rows.size() * sizeof(float));
  write_text(path, npy);
}

/// Those of `count` rows from `first` on are `large`, others small.
void write_rows(const std::string& path, std::size_t first, std::size_t count, float large = 1e6F) {
  write_numbers(path, [&](std::size_t i) {
    const bool is_large = first <= i / 2 && i / 2 < first + count;
    return is_large ? large : static_cast<float>(i % 5) / 8;
  });
}

/// Three steps in an epoch, the last one shorter.
std::string text_of_rows(const TempDirectory& directory, const std::string& more = "") {
  return fmt::format(R"(
mesh: {{data: 1}}
precision: mixed_float16
dataset:
  name: rows
  format: npy
  splits: {{train: {{x: {}, y: {}}}}}
model: {{input: [2], layers: [Dense: {{name: a, units: 3}}, Dense: {{name: b, units: 2}}]}}
compile: {{optimizer: {}, loss: mse, metrics: [mae]}}
fit: {{batch_size: 8, epochs: 2, shuffle: false, log_steps: true}}
{})",
                     directory.file("x.npy"), directory.file("y.npy"), kPlain, more);
}

std::string scaled(double scale) {
  return fmt::format("{{LossScaleOptimizer: {{inner_optimizer: {}, initial_scale: {:e}}}}}", kPlain,
                     scale);
}

std::string with(std::string text, const std::string& part, const std::string& other) {
  return text.replace(text.find(part), part.size(), other);
}

using Table = std::vector<std::vector<std::string>>;

double number_in(const Table& table, std::size_t row, const std::string& column) {
  const auto& names = table[0];
  const auto at = std::find(names.begin(), names.end(), column) - names.begin();
  return std::stod(table[row].at(static_cast<std::size_t>(at)));
}

}  // namespace

TEST_CASE("a step that the loss scale leaves out does not end a run, and is not in its means") {
  const TempDirectory directory;
  write_rows(directory.file("x.npy"), 8, 1);  // of the second step
  write_rows(directory.file("y.npy"), 0, 0);
  for (const std::string mesh : {"1", "2", "3"}) {
    CAPTURE(mesh);
    const Outcome outcome = fit_on(text_of_rows(directory), mesh, directory.file(mesh));
    CHECK(outcome.error == "");
    CHECK(outcome.out.find("epoch 2: warning: the loss of 1 of 3 steps is no number, first of step "
                           "2; the loss scale leaves them out, and so do the means\n") !=
          std::string::npos);
    const Table epochs = cells_of(read_log(directory.file(mesh + "/metrics.csv")));
    const Table steps = cells_of(read_log(directory.file(mesh + "/steps.csv")));
    for (std::size_t epoch = 0; epoch < 2; ++epoch) {
      CHECK_FALSE(std::isfinite(number_in(steps, 3 * epoch + 2, "loss")));
      // Batches of 8 and 4.
      const double mean =
          (2 * number_in(steps, 3 * epoch + 1, "loss") + number_in(steps, 3 * epoch + 3, "loss")) /
          3;
      CHECK(number_in(epochs, epoch + 1, "loss") == doctest::Approx(mean).epsilon(1e-5));
      CHECK(std::isfinite(number_in(epochs, epoch + 1, "mae")));
    }
    CHECK(difference(weights_in(directory.file("1/final.safetensors")),
                     weights_in(directory.file(mesh + "/final.safetensors"))) < 1e-5);
  }
}

TEST_CASE("a loss that is no number in all steps of an epoch ends the run") {
  const TempDirectory directory;
  write_rows(directory.file("x.npy"), 0, 20);
  write_rows(directory.file("y.npy"), 0, 0);
  const Outcome outcome = fit_on(text_of_rows(directory), "2", directory.file("run"));
  CHECK(outcome.code == ExitCode::kTraining);
  CHECK(outcome.error.starts_with("epoch 1, step 1: the loss is "));
  CHECK(outcome.out.find("epoch 1: warning: the loss of 3 of 3 steps is no number") !=
        std::string::npos);
}

TEST_CASE("a loss that is no number ends the run where gradients are numbers") {
  const TempDirectory directory;
  write_rows(directory.file("x.npy"), 0, 0);
  write_rows(directory.file("y.npy"), 0, 1, 1e25F);  // of which the square overflows
  const std::string text = with(text_of_rows(directory), "precision: mixed_float16", "");
  const Outcome outcome = fit_on(with(text, kPlain, scaled(1)), "2", directory.file("run"));
  CAPTURE(outcome.error);
  CHECK(outcome.error.starts_with("epoch 1, step 1: the loss is inf"));
}

TEST_CASE("an epoch of which all steps are left out is told of") {
  const TempDirectory directory;
  write_rows(directory.file("x.npy"), 0, 0);
  write_rows(directory.file("y.npy"), 0, 0);
  const std::string text = with(text_of_rows(directory), kPlain, scaled(3e38));
  const Outcome outcome = fit_on(text, "2", directory.file("run"));
  CHECK(outcome.error == "");
  CHECK(outcome.out.find("epoch 1: warning: the loss scale leaves out all 3 steps, for their "
                         "gradients are not finite; it is halved until they are\n") !=
        std::string::npos);
}

TEST_CASE("whether gradients are finite is said of the whole batch, whatever its parts are") {
  const TempDirectory directory;
  write_numbers(directory.file("x.npy"), [](std::size_t) { return 1.0F; });
  const std::string of_sgd =
      "{{LossScaleOptimizer: {{inner_optimizer: {{SGD: {{{}}}}}, initial_scale: 8}}}}";
  const auto leaves_out = [&](const char* more, const std::string& mesh) {
    const std::string text = fmt::format(R"(
mesh: {{data: 1}}
precision: mixed_float16
dataset: {{name: rows, format: npy, splits: {{train: {{x: {}, y: {}}}}}}}
model: {{input: [2], layers: [Dense: {{units: 2, use_bias: false, kernel_initializer: zeros}}]}}
compile: {{optimizer: {}, loss: mse}}
fit: {{batch_size: 8, steps_per_epoch: 1, shuffle: false}}
)",
                                         directory.file("x.npy"), directory.file("y.npy"),
                                         fmt::format(fmt::runtime(of_sgd), more));
    const Outcome outcome = fit_on(text, mesh, directory.file("run"));
    CHECK(outcome.error == "");
    return outcome.out.find("the loss scale leaves out") != std::string::npos;
  };
  // The gradients are the sums of the labels, negated.
  for (const char* more : {"", "gradient_accumulation_steps: 2"}) {
    for (const std::string mesh : {"1", "2", "4"}) {
      CAPTURE(mesh);
      write_numbers(directory.file("y.npy"), [](std::size_t) { return 10'000.0F; });
      CHECK(leaves_out(more, mesh));  // 80,000, of halves of 40,000
      write_numbers(directory.file("y.npy"),
                    [](std::size_t i) { return i / 2 < 4 ? 20'000.0F : -20'000.0F; });
      CHECK_FALSE(leaves_out(more, mesh));  // 0, of halves of 80,000 and -80,000
    }
  }
}

TEST_CASE("TerminateOnNaN ends a run at a step that is left out, too") {
  const TempDirectory directory;
  write_rows(directory.file("x.npy"), 8, 1);
  write_rows(directory.file("y.npy"), 0, 0);
  const std::string text =
      with(text_of_rows(directory), "log_steps", "callbacks: [TerminateOnNaN: {}], log_steps");
  const Outcome outcome = fit_on(text, "2", directory.file("run"));
  CHECK(outcome.out.find("Batch 1: Invalid loss, terminating training") != std::string::npos);
  CHECK(cells_of(read_log(directory.file("run/steps.csv"))).size() == 3);  // names and two steps
}

TEST_CASE("an epoch goes on in another run without the steps that were left out") {
  const TempDirectory directory;
  write_rows(directory.file("x.npy"), 0, 1);
  write_rows(directory.file("y.npy"), 0, 0);
  const std::string text = text_of_rows(directory, "checkpoint: {every: 1 step, keep: 100}\n");
  const std::string run = directory.file("run");
  const Outcome whole = fit_on(text, "2", run);
  REQUIRE(whole.error == "");
  const std::string log = read_log(run + "/metrics.csv");
  for (const std::size_t kept : {6, 5, 2, 1}) {
    CAPTURE(kept);
    const std::vector<std::string> all = list_checkpoints(run + "/checkpoints");
    REQUIRE(all.size() > kept);
    for (std::size_t i = kept; i < all.size(); ++i) remove_checkpoint(all[i]);
    std::filesystem::remove(run + "/final.safetensors");
    const Outcome rest = fit_on(text, "2", run, 0, {.rerun = Rerun::kResume});
    CAPTURE(rest.out);
    CHECK(rest.error == "");
    CHECK(rest.result.digest == whole.result.digest);
    CHECK(rest.result.logs == whole.result.logs);
    CHECK(rest.out.find("the loss of 1 of 3 steps is no number, first of step 1") !=
          std::string::npos);
    CHECK(read_log(run + "/metrics.csv") == log);
  }
}
