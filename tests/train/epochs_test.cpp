// Whole runs: what an epoch is, and what of the data it takes.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "whole_runs.h"

using namespace meshwork;
using namespace meshwork::testing::runs;
using meshwork::test::read_log;
using meshwork::test::read_text;
using meshwork::test::TempDirectory;
using meshwork::testing::job_of;

TEST_CASE("a learning rate of 0 changes nothing; the schedule is seen in the logs") {
  const TempDirectory directory;
  const std::string text =
      text_of("{SGD: {learning_rate: 0.1}}",
              "batch_size: 8, epochs: 3, callbacks: [LearningRateScheduler: {schedule: [0, 0, "
              "0.25]}, ModelCheckpoint: {filepath: '{epoch}.safetensors'}]");
  const Outcome outcome = fit_on(text, "2x2", directory.path(), 2);
  CHECK(read_text(directory.file("1.safetensors")) == read_text(directory.file("2.safetensors")));
  CHECK(read_text(directory.file("2.safetensors")) != read_text(directory.file("3.safetensors")));
  const auto rows = cells_of(read_log(directory.file("metrics.csv")));
  CHECK(rows[0][1] == "learning_rate");
  CHECK(rows[1][1] == "0");
  CHECK(rows[3][1] == "0.25");
  CHECK(outcome.out.find(" - learning_rate: 0.2500 - loss: ") != std::string::npos);
}

TEST_CASE("validation at times, in part, in batches of its own") {
  const TempDirectory directory;
  const std::string text = text_of("adam",
                                   "batch_size: 8, initial_epoch: 2, epochs: 6, validation: true, "
                                   "validation_freq: 2, validation_batch_size: 4, "
                                   "validation_steps: 2");
  check_every_mesh(text, directory);
  const auto rows = cells_of(read_log(directory.file("1x1/metrics.csv")));
  REQUIRE(rows.size() == 5);
  for (std::size_t i = 1; i < rows.size(); ++i) {
    CHECK(rows[i][0] == std::to_string(i + 1));
    CHECK((rows[i][3] == "NA") == (i % 2 == 1));
  }
  // The first eight samples, every time; more steps than there are batches are all of them.
  const auto last_loss = [&](const std::string& fit) {
    const std::string frozen = "{SGD: {learning_rate: 0.0}}";
    const Outcome outcome = fit_on(text_of(frozen, "batch_size: 8, epochs: 3, " + fit), "1x1",
                                   directory.file("validation"));
    return outcome.result.logs.at("val_loss");
  };
  const double part = last_loss("validation: true, validation_steps: 1");
  const double whole = last_loss("validation: true");
  CHECK(part == doctest::Approx(last_loss("validation: true, validation_batch_size: 4, "
                                          "validation_steps: 2")));
  CHECK(part != doctest::Approx(whole));
  CHECK(whole == doctest::Approx(last_loss("validation: true, validation_steps: 7")));
  CHECK(whole == doctest::Approx(last_loss("validation_freq: [3], validation: true")));
}

TEST_CASE("steps_per_epoch without a batch size divides the data, as in Keras") {
  const auto batch = [](const std::string& fit) {
    return job_of(text_of("adam", fit), "1x1").config.fit.batch_size;
  };
  CHECK(batch("steps_per_epoch: 4") == 6);
  CHECK(batch("steps_per_epoch: 40") == 1);
  CHECK(batch("steps_per_epoch: 4, batch_size: 3") == 3);
  CHECK(batch("epochs: 1") == 32);
  const TempDirectory directory;
  const Outcome outcome = fit_on(text_of("adam",
                                         "steps_per_epoch: 5, batch_size: 8, epochs: 2, "
                                         "log_steps: true"),
                                 "2x2", directory.path(), 2);
  CHECK(cells_of(read_log(directory.file("steps.csv"))).size() == 11);
  CHECK(outcome.out.find("\n5/5 - ") != std::string::npos);
}

TEST_CASE("an epoch that meets the end of the data goes on with the next pass, and says so once") {
  const TempDirectory directory;
  const auto printed = [&](const std::string& fit, const std::string& mesh = "1x1") {
    return fit_on(text_of("adam", "batch_size: 8, " + fit), mesh, directory.path()).out;
  };
  const auto warning = [](int steps, int step, int epoch) {
    return fmt::format(
        "warning: test.yaml:17:6: fit: steps_per_epoch is {}, but the data end after step {} of "
        "epoch "
        "{}; the epoch goes on with the next pass over them, where Keras ends it; leave "
        "steps_per_epoch out for epochs of one pass\n",
        steps, step, epoch);
  };
  // 22 samples are three batches.
  CHECK(printed("steps_per_epoch: 5, epochs: 3", "2x2") == warning(5, 3, 1));
  CHECK(printed("steps_per_epoch: 2, epochs: 3") == warning(2, 1, 2));
  CHECK(printed("steps_per_epoch: 2, epochs: 1") == "");
  CHECK(printed("steps_per_epoch: 1, epochs: 4") == "");
  CHECK(printed("steps_per_epoch: 3, epochs: 2") == "");
  CHECK(printed("epochs: 2") == "");
  CHECK(printed("steps_per_epoch: 2, epochs: 2, drop_remainder: true") == "");
  CHECK(printed("steps_per_epoch: 2, initial_epoch: 1, epochs: 2") == warning(2, 1, 2));
}

TEST_CASE("initial_epoch goes on with the data where earlier epochs ended") {
  const TempDirectory directory;
  const std::string frozen = "{SGD: {learning_rate: 0.0}}";
  const auto steps = [&](const std::string& name, const std::string& fit) {
    CHECK(fit_on(text_of(frozen, "batch_size: 8, log_steps: true, " + fit), "1x1",
                 directory.file(name))
              .error == "");
    return cells_of(read_log(directory.file(name + "/steps.csv")));
  };
  const auto all = steps("all", "epochs: 3");
  const auto last = steps("last", "epochs: 3, initial_epoch: 2");
  REQUIRE(all.size() == 10);
  REQUIRE(last.size() == 4);
  for (std::size_t i = 1; i < 4; ++i) CHECK(last[i][1] == all[6 + i][1]);
}

TEST_CASE("samples of weight 0 might as well not be there") {
  const TempDirectory directory;
  const auto text = [](const std::string& weights, const std::string& fit) {
    return fmt::format(R"(
mesh: {{data: 1, model: 1}}
layout_map: {{'d/kernel': [null, model]}}
dataset:
  name: t
  format: synthetic
  splits:
    train: {{x: {{normal: [20, 4]}}, y: {{integers: [20], below: 3}}{}}}
model: {{input: [4], layers: [Dense: {{name: d, units: 3}}]}}
compile:
  optimizer: {{SGD: {{learning_rate: 0.1}}}}
  loss: {{SparseCategoricalCrossentropy: {{from_logits: true}}}}
  metrics: [accuracy]
  weighted_metrics: [accuracy, SparseCategoricalCrossentropy: {{from_logits: true}}]
fit: {{batch_size: 8, epochs: 2, validation_split: 0.4{}}}
)",
                       weights, fit);
  };
  const auto logs = [&](const std::string& weights, const std::string& fit,
                        const std::string& mesh) {
    const Outcome outcome = fit_on(text(weights, fit), mesh, directory.file("run"));
    CHECK(outcome.error == "");
    return outcome.result;
  };
  const FitResult still = logs("", ", class_weight: {0: 0, 1: 0, 2: 0}", "2x2");
  CHECK(still.logs.at("loss") == 0);
  CHECK(still.logs.at("val_loss") > 0.1);  // classes have no weight in validation
  CHECK(still.logs.at("accuracy") > 0);
  CHECK(still.logs.at("weighted_accuracy") == 0);  // nothing counts
  CHECK(still.logs.at("val_weighted_accuracy") == still.logs.at("val_accuracy"));
  const FitResult plain = logs("", "", "1x1");
  CHECK(logs("", ", class_weight: {}", "1x1").digest == plain.digest);
  CHECK(logs("", ", class_weight: {0: 1, 2: 1}", "1x1").digest == plain.digest);
  const FitResult one = logs(", sample_weight: {uniform: [20]}", "", "1x1");
  CHECK(one.digest != plain.digest);
  CHECK(one.logs.at("val_loss") < one.logs.at("val_sparse_categorical_crossentropy"));
  for (const char* mesh : {"2x2", "3x1", "1x3"}) {
    const FitResult many = logs(", sample_weight: {uniform: [20]}", "", mesh);
    for (const auto& [name, value] : one.logs) {
      CHECK(many.logs.at(name) == doctest::Approx(value).epsilon(1e-5));
    }
  }
}

TEST_CASE("a split without weights of samples counts all alike, whatever others have") {
  const TempDirectory directory;
  const auto logs = [&](const std::string& train, const std::string& validation,
                        const std::string& mesh) {
    const Outcome outcome = fit_on(fmt::format(R"(
mesh: {{data: 1, model: 1}}
dataset:
  format: synthetic
  splits:
    train: {{x: {{normal: [20, 4]}}, y: {{integers: [20], below: 3}}{}}}
    validation: {{x: {{normal: [9, 4]}}, y: {{integers: [9], below: 3}}{}}}
model: {{input: [4], layers: [Dense: {{name: d, units: 3}}]}}
compile:
  optimizer: {{SGD: {{learning_rate: 0.1}}}}
  loss: {{SparseCategoricalCrossentropy: {{from_logits: true}}}}
  metrics: [SparseCategoricalCrossentropy: {{from_logits: true}}]
fit: {{batch_size: 8, epochs: 2, validation: true}}
)",
                                               train, validation),
                                   mesh, directory.file("run"));
    CHECK(outcome.error == "");
    return outcome.result;
  };
  const auto count_alike = [](const FitResult& result, const std::string& split) {
    const double crossentropy = result.logs.at(split + "sparse_categorical_crossentropy");
    return result.logs.at(split + "loss") == doctest::Approx(crossentropy);
  };
  const std::string train = ", sample_weight: {uniform: [20]}";
  const std::string validation = ", sample_weight: {uniform: [9]}";
  const FitResult none = logs("", "", "1x1"), both = logs(train, validation, "1x1");
  for (const char* mesh : {"1x1", "2x1"}) {
    CAPTURE(mesh);
    const FitResult first = logs(train, "", mesh), second = logs("", validation, mesh);
    CHECK(!count_alike(first, ""));
    CHECK(count_alike(first, "val_"));
    CHECK(count_alike(second, ""));
    CHECK(!count_alike(second, "val_"));
    CHECK(first.logs.at("loss") == doctest::Approx(both.logs.at("loss")));
    CHECK(second.logs.at("loss") == doctest::Approx(none.logs.at("loss")));
  }
}

TEST_CASE("the perplexity of an epoch is of the mean crossentropy of all its tokens") {
  const TempDirectory directory;
  const std::string text = R"(
mesh: {data: 1, model: 1}
dataset:
  name: t
  format: synthetic
  splits:
    train: {x: {normal: [22, 4, 6]}, y: {integers: [22, 4], below: 5}}
model: {input: [4, 6], layers: [Dense: {units: 5}]}
compile:
  loss: {SparseCategoricalCrossentropy: {from_logits: true}}
  metrics: [SparseCategoricalCrossentropy: {from_logits: true}, Perplexity: {from_logits: true}]
fit: {batch_size: 8}
)";
  for (const char* mesh : {"1x1", "2x2"}) {
    const Logs logs = fit_on(text, mesh, directory.file(mesh)).result.logs;
    const double mean = logs.at("sparse_categorical_crossentropy");
    CHECK(logs.at("perplexity") == doctest::Approx(std::exp(mean)));
  }
}
