#include <doctest/doctest.h>

#include <algorithm>

#include "config/config_text.h"

using namespace meshwork::config;

namespace {

FitSpec fit_of(const std::string& fit, const std::vector<std::string>& assignments = {}) {
  return parse(kModel + "fit: {" + fit + "}\n", assignments).fit;
}

std::string fit_error(const std::string& fit, const std::vector<std::string>& assignments = {}) {
  const std::string text = parse_error(kModel + "fit: {" + fit + "}\n", assignments);
  return text.substr(std::min(text.find(": ") + 2, text.size()));
}

}  // namespace

TEST_CASE("fit has Keras's arguments and defaults") {
  const FitSpec none = fit_of("epochs: 3");
  CHECK(none.initial_epoch == 0);
  CHECK(!none.batch_size_is_given);
  CHECK(!none.validation_steps);
  CHECK(!none.validation_batch_size);
  CHECK(none.validation_freq == 1);
  CHECK(none.validation_epochs.empty());
  CHECK(!none.class_weight);
  CHECK(none.callbacks.empty());

  const FitSpec all = fit_of(
      "batch_size: 32, epochs: 7, initial_epoch: 7, validation_steps: 4, validation_batch_size: "
      "100, validation_freq: 2, class_weight: {0: 1, 3: 2.5, -1: 0}, callbacks: [TerminateOnNaN, "
      "EarlyStopping: {patience: 2}]");
  CHECK(all.batch_size_is_given);
  CHECK(all.initial_epoch == 7);
  CHECK(all.validation_steps == 4);
  CHECK(all.validation_batch_size == 100);
  CHECK(all.validation_freq == 2);
  REQUIRE(all.class_weight);
  CHECK(all.class_weight->by_class ==
        std::map<std::int64_t, double>{{0, 1.0}, {3, 2.5}, {-1, 0.0}});
  REQUIRE(all.callbacks.size() == 2);
  CHECK(all.callbacks[0].name == "TerminateOnNaN");
  CHECK(all.callbacks[1].args.find("patience")->value.as_integer("x") == 2);
  CHECK(fit_of("validation_freq: [1, 5]").validation_epochs == std::vector<std::int64_t>{1, 5});
}

TEST_CASE("errors of epochs and validation") {
  CHECK(fit_error("epochs: 2, initial_epoch: 3") ==
        "initial_epoch is 3, but epochs is 2; epochs is the number of the last epoch, those before "
        "initial_epoch included");
  CHECK(fit_error("initial_epoch: -1") == "fit: initial_epoch is -1; give 0 or more");
  CHECK(fit_error("validation_steps: 0") ==
        "fit: validation_steps is 0; give 1 or more, or leave it out");
  CHECK(fit_error("validation_batch_size: 0") ==
        "fit: validation_batch_size is 0; give 1 or more, or leave it out");
  CHECK(fit_error("validation_freq: 0") == "fit: validation_freq is 0; give 1 or more");
  CHECK(fit_error("validation_freq: []") ==
        "validation_freq is empty; list epochs, or set validation: false");
  CHECK(fit_error("validation_freq: [0]") == "validation_freq names epoch 0; epochs count from 1");
}

TEST_CASE("errors of class weights and callbacks") {
  CHECK(fit_error("class_weight: [1, 2]") ==
        "class_weight must be a map such as {0: 1.0, 3: 2.5}, not a list");
  CHECK(fit_error("class_weight: {cat: 1}") ==
        "a key of class_weight must be an integer, not 'cat'");
  CHECK(fit_error("class_weight: {0: -1}") ==
        "class_weight: the weight of class 0 is -1; give 0 or more");
  CHECK(fit_error("class_weight: {0: 1, 00: 2}") == "class_weight: class 0 stands here twice");
  CHECK(fit_error("callbacks: EarlyStopping") ==
        "callbacks must be a list of classes, not 'EarlyStopping'; begin each line with '- '");
  CHECK(fit_error("callbacks: [3: {}, [x]]") ==
        "callback must be the name of a class, or a class with its arguments, not a list");
}

TEST_CASE("callbacks and class weights on the command line") {
  const std::string fit =
      "class_weight: {0: 1}, callbacks: [TerminateOnNaN, EarlyStopping: "
      "{patience: 2}]";
  const auto patience = [&](const std::vector<std::string>& assignments) {
    return fit_of(fit, assignments).callbacks.at(1).args.find("patience")->value.as_integer("x");
  };
  CHECK(patience({"fit.callbacks.EarlyStopping.patience=5"}) == 5);
  CHECK(patience({"fit.callbacks.1.patience=6"}) == 6);
  CHECK(patience({"fit.callbacks.1.EarlyStopping.patience=7"}) == 7);
  CHECK(fit_of(fit, {"fit.callbacks.TerminateOnNaN.raise_error=true"})
            .callbacks.at(0)
            .args.find("raise_error") != nullptr);
  CHECK(fit_of(fit, {"fit.callbacks.EarlyStopping=null"}).callbacks.size() == 1);
  CHECK(fit_of(fit, {"fit.callbacks=null"}).callbacks.empty());
  CHECK(fit_of(fit, {"fit.class_weight.2=4"}).class_weight->by_class.size() == 2);
  CHECK(
      fit_error(fit, {"fit.callbacks.EarlyStoping.patience=5"})
          .find("no element 'EarlyStoping'; it has 2, counted from 0; nearest: 'EarlyStopping'") !=
      std::string::npos);
}

TEST_CASE("weighted metrics are a class or a list of them") {
  const auto count = [](const std::string& metrics) {
    const Config config =
        parse(kModel + "compile: {loss: mse, weighted_metrics: " + metrics + "}\n");
    return config.compile->objectives[0].weighted_metrics.size();
  };
  CHECK(count("accuracy") == 1);
  CHECK(count("[accuracy, TopK: {k: 3}]") == 2);
  CHECK(count("null") == 0);
}
