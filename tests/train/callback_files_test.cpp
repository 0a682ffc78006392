// Files of callbacks, over scripted logs, as Keras 3.15 wrote them over the same logs.
#include <doctest/doctest.h>

#include <filesystem>

#include "scripted_logs.h"
#include "support/temp_directory.h"

using namespace meshwork;
using namespace meshwork::testing::scripted;
using test::read_text;
using test::TempDirectory;

TEST_CASE("ModelCheckpoint saves what Keras's saves, under the same names") {
  const Script script = epochs_of({kValues.begin(), kValues.begin() + 5});
  const auto saved = [&](const std::string& arguments) {
    return play("ModelCheckpoint: {filepath: 'c/{epoch:02d}-{val_loss:.2f}.safetensors', " +
                    arguments + "}",
                script)
        .saved;
  };
  CHECK(saved("verbose: 0") ==
        std::vector<std::string>{"run/c/01-1.00.safetensors", "run/c/02-0.80.safetensors",
                                 "run/c/03-0.90.safetensors", "run/c/04-0.70.safetensors",
                                 "run/c/05-0.75.safetensors"});
  CHECK(saved("save_best_only: true, save_weights_only: true") ==
        std::vector<std::string>{"run/c/01-1.00.safetensors", "run/c/02-0.80.safetensors",
                                 "run/c/04-0.70.safetensors"});
  CHECK(saved("save_best_only: true, mode: max").size() == 1);
  const Record loud = play(
      "ModelCheckpoint: {filepath: /b.safetensors, save_best_only: true, verbose: 1, "
      "initial_value_threshold: 0.75}",
      script);
  CHECK(loud.saved == std::vector<std::string>{"/b.safetensors"});
  REQUIRE(loud.said.size() == 6);
  CHECK(loud.said[0] == "Epoch 1: val_loss did not improve from 0.75000");
  CHECK(loud.said[3] ==
        "Epoch 4: val_loss improved from 0.75000 to 0.70000, saving model to /b.safetensors");
  CHECK(loud.said[4] == "Epoch 4: finished saving model to /b.safetensors");
}

TEST_CASE("ModelCheckpoint counts batches across epochs") {
  Script script = epochs_of({kValues.begin(), kValues.begin() + 5}, "loss");
  script.batches = 4;
  const std::string file = "ModelCheckpoint: {filepath: '{epoch:02d}-{batch}.safetensors', ";
  CHECK(play(file + "save_freq: 3}", script).saved ==
        std::vector<std::string>{"run/01-3.safetensors", "run/02-2.safetensors",
                                 "run/03-1.safetensors", "run/03-4.safetensors",
                                 "run/04-3.safetensors", "run/05-2.safetensors"});
  CHECK(play(file + "save_freq: 3, save_best_only: true, monitor: loss}", script).saved ==
        std::vector<std::string>{"run/01-3.safetensors", "run/02-2.safetensors",
                                 "run/04-3.safetensors"});
}

TEST_CASE("ModelCheckpoint saves an epoch that it cannot judge, and says so") {
  Script script = epochs_of({.5, .6, .4});
  script.epochs[1].erase("val_loss");
  const Record record =
      play("ModelCheckpoint: {filepath: '{epoch}.safetensors', save_best_only: true}", script,
           "validation: true, validation_freq: [1, 3]");
  CHECK(record.saved ==
        std::vector<std::string>{"run/1.safetensors", "run/2.safetensors", "run/3.safetensors"});
  CHECK(record.said ==
        std::vector<std::string>{"Epoch 2: can save the best model only with val_loss, which was "
                                 "not computed; saving model to run/2.safetensors"});
}

TEST_CASE("file names follow Python's fields") {
  const auto name = [](const std::string& path) {
    const Script script = epochs_of({1e-5});
    return play("ModelCheckpoint: {filepath: '" + path + ".safetensors'}", script).saved.at(0);
  };
  CHECK(name("{{a}}{epoch}") == "run/{a}1.safetensors");
  CHECK(name("{val_loss}-{loss}-{loss:.0f}-{val_loss:.3e}") ==
        "run/1e-05-1.0-1-1.000e-05.safetensors");
  CHECK(name("{epoch:4d}|{epoch:<3}") == "run/   1|1  .safetensors");
}

TEST_CASE("CSVLogger writes what Python's csv module writes for Keras") {
  const TempDirectory directory;
  Script script;
  script.run_directory = directory.path();
  script.epochs = {{{"loss", .5}, {"accuracy", 1.0}},
                   {{"loss", 1e-5}, {"accuracy", kNaN}, {"val_loss", 3.0}}};
  play("CSVLogger: {filename: logs/a.csv}", script);
  CHECK(read_text(directory.file("logs/a.csv")) ==
        "epoch,accuracy,loss,val_accuracy,val_loss\r\n0,1.0,0.5,NA,NA\r\n1,nan,1e-05,NA,3.0\r\n");
  script.epochs = {{{"loss", 2.0}, {"val_loss", 1.0 / 3}}};
  play("CSVLogger: {filename: b.csv, separator: ';'}", script);
  const std::string before = "epoch;loss;val_loss\r\n0;2.0;0.3333333333333333\r\n";
  CHECK(read_text(directory.file("b.csv")) == before);
  script.epochs = {{{"loss", 7.0}, {"val_loss", 1e16}}};
  play("CSVLogger: {filename: b.csv, append: true}", script);
  CHECK(read_text(directory.file("b.csv")) == before + "0,7.0,1e+16\r\n");
  play("CSVLogger: {filename: c.csv, append: true}", script);
  CHECK(read_text(directory.file("c.csv")) == "epoch,loss,val_loss\r\n0,7.0,1e+16\r\n");
  play("CSVLogger: {filename: b.csv}", script);
  CHECK(read_text(directory.file("b.csv")) == "epoch,loss,val_loss\r\n0,7.0,1e+16\r\n");
}

TEST_CASE("only the first device writes the log") {
  const TempDirectory directory;
  const auto list = make_callbacks(config_of(text_of("CSVLogger: {filename: a.csv}")));
  Training training;
  training.is_first = false;
  training.run_directory = directory.path();
  training.collectively = [](const std::function<void()>& work) { work(); };
  Logs logs{{"loss", 1}};
  list[0]->begin_training(training);
  list[0]->end_epoch(0, logs, training);
  CHECK_FALSE(std::filesystem::exists(directory.file("a.csv")));
}
