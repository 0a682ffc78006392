// Files of callbacks, over scripted logs, as Keras 3.15 wrote them over the same logs.
#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "scripted_logs.h"
#include "support/full_disk.h"
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

TEST_CASE("ModelCheckpoint has no best file before one is written") {
  const auto list = make_callbacks(config_of(
      text_of("ModelCheckpoint: {filepath: '{epoch}.safetensors', save_best_only: true}")));
  std::vector<std::string> saved;
  Training training;
  bool is_full = true;
  training.say = [](const std::string&) {};
  training.save_weights = [&](const std::string& file) {
    if (is_full) fail(ExitCode::kFile, "{}: cannot write", file);
    saved.push_back(file);
  };
  const auto end_epoch = [&](std::int64_t epoch, double value) {
    Logs logs{{"loss", 1.0}, {"val_loss", value}};
    list[0]->end_epoch(epoch, logs, training);
  };
  end_epoch(0, 0.5);
  is_full = false;
  end_epoch(1, 0.75);
  end_epoch(2, 0.8);
  end_epoch(3, 0.7);
  CHECK(saved == std::vector<std::string>{"2.safetensors", "4.safetensors"});
}

TEST_CASE("ModelCheckpoint removes what a run that was killed has not ended, and nothing else") {
  const TempDirectory directory;
  Script script;
  script.run_directory = directory.path();
  const auto partial = [&](const std::string& file) {
    const std::string name = partial_name(directory.file(file));
    std::filesystem::create_directories(std::filesystem::path(name).parent_path());
    test::write_text(name, "half");
    return name;
  };
  for (const std::string folder : {"", "best/", "./best/{epoch}/"}) {
    CAPTURE(folder);
    const bool has_field = folder.ends_with("}/");
    const std::string at = has_field ? "best/3/" : folder;
    const std::string own = partial(at + "w-03-0.25.safetensors");
    const std::vector<std::string> theirs{
        partial(at + "w-x-0.25.safetensors"), partial(at + "w-03-0.25.npy"),
        partial("other/" + at + "w-03-0.25.safetensors"), directory.file("w-03-0.25.safetensors")};
    test::write_text(theirs.back(), "whole");
    play("ModelCheckpoint: {filepath: '" + folder + "w-{epoch:02d}-{loss:.2f}.safetensors'}",
         script);
    CHECK_FALSE(std::filesystem::exists(own));
    for (const std::string& file : theirs) CHECK(std::filesystem::exists(file));
  }
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

namespace {

/// One CSVLogger of a run in a directory, over which the callback lives on from call to call.
class Logged {
 public:
  Logged(const std::string& directory, const std::string& arguments, const Json* state = nullptr)
      : list_(make_callbacks(config_of(text_of("CSVLogger: {" + arguments + "}")))) {
    training_.run_directory = directory;
    training_.resumed = state != nullptr;
    training_.say = [this](const std::string& line) { said += line + "\n"; };
    training_.collectively = [](const std::function<void()>& work) { work(); };
    list_[0]->begin_training(training_);
    if (state) list_[0]->restore(*state, training_);
  }

  void add(std::int64_t epoch, double loss) {
    Logs logs{{"loss", loss}, {"val_loss", 0.5}};
    list_[0]->end_epoch(epoch, logs, training_);
  }

  Json state() const { return list_[0]->state(); }

  std::string said;

 private:
  std::vector<std::unique_ptr<Callback>> list_;
  Training training_;
};

}  // namespace

TEST_CASE("CSVLogger goes on behind the rows of its checkpoint") {
  const TempDirectory directory;
  const std::string header = "epoch,loss,val_loss\r\n";
  for (const bool appends : {false, true}) {
    const std::string arguments =
        std::string("filename: a.csv, append: ") + (appends ? "true" : "false");
    std::filesystem::remove(directory.file("a.csv"));
    Logged run(directory.path(), arguments);
    const Json none = run.state();
    run.add(0, 1);
    const Json one = run.state();
    run.add(1, 2);
    run.add(2, 3);
    Logged resumed(directory.path(), arguments, &one);
    resumed.add(1, 4);
    CHECK(read_text(directory.file("a.csv")) == header + "0,1.0,0.5\r\n1,4.0,0.5\r\n");
    Logged again(directory.path(), arguments, &none);
    again.add(0, 5);
    CHECK(read_text(directory.file("a.csv")) == header + "0,5.0,0.5\r\n");
    CHECK(resumed.said + again.said == "");
  }
}

TEST_CASE("CSVLogger cuts off no rows but its own") {
  const TempDirectory directory;
  const std::string shared = directory.file("shared.csv");
  const std::string arguments = "append: true, filename: '" + shared + "'";
  Logged a(directory.file("a"), arguments), b(directory.file("b"), arguments);
  a.add(0, 1);
  const Json state = a.state();
  b.add(0, 2);
  b.add(1, 3);
  a.add(1, 4);
  const std::string before = read_text(shared);
  Logged resumed(directory.file("a"), arguments, &state);
  CHECK(read_text(shared) == before);
  CHECK(resumed.said ==
        "note: CSVLogger: " + shared +
            ": what stands behind the rows that this run had at its checkpoint may be of another "
            "run, and stays\n");
  resumed.add(1, 4);
  CHECK(read_text(shared) == before + "1,4.0,0.5\r\n");
  // Another file, that is there already; and one that another run has filled since.
  test::write_text(directory.file("table.csv"), "id,price\r\n1,2.0\r\n2,3.0\r\n3,4.0\r\n");
  const std::string table = read_text(directory.file("table.csv"));
  for (const bool is_known : {true, false}) {
    Json other = state;
    other["bytes"] = 10;
    if (is_known) {
      other["file"] = "log.csv";
    } else {
      other.erase("file");
      other.erase("place");
    }
    Logged(directory.path(), "filename: table.csv", &other);
    CHECK(read_text(directory.file("table.csv")) == table);
  }
  const Json bare{{"bytes", 0}, {"columns", {"loss"}}};
  Logged(directory.path(), "filename: table.csv", &bare);
  CHECK(read_text(directory.file("table.csv")) == table);
  Logged own(directory.path(), "filename: own.csv");
  own.add(0, 1);
  const Json old = own.state();
  Logged other(directory.path(), "filename: own.csv");
  for (int epoch = 0; epoch < 3; ++epoch) other.add(epoch + 5, 1);
  other.add(3, 1);
  const std::string filled = read_text(directory.file("own.csv"));
  Logged(directory.path(), "filename: own.csv", &old);
  CHECK(read_text(directory.file("own.csv")) == filled);
}

TEST_CASE("CSVLogger goes on with a file that could not be written for a while") {
  const TempDirectory directory;
  const std::string header = "epoch,loss,val_loss\r\n";
  for (const bool is_first : {true, false}) {
    Logged run(directory.path(), "filename: a.csv");
    if (!is_first) run.add(0, 1);
    const std::string before = read_text(directory.file("a.csv"));
    {
      const test::FullDisk full(before.size() + 5);
      run.add(1, 2);
    }
    CHECK(run.said.find("cannot write: File too large") != std::string::npos);
    CHECK(read_text(directory.file("a.csv")) == before);
    const Json state = run.state();
    run.add(2, 3);
    const std::string kept = is_first ? header : before;
    CHECK(read_text(directory.file("a.csv")) == kept + "2,3.0,0.5\r\n");
    run.add(4, 3);  // as if another one had been lost
    Logged resumed(directory.path(), "filename: a.csv", &state);
    resumed.add(3, 4);
    CHECK(read_text(directory.file("a.csv")) == kept + "3,4.0,0.5\r\n");
    CHECK(resumed.said == "");
  }
}

TEST_CASE("CSVLogger glues no row to a line that is torn") {
  const TempDirectory directory;
  const std::string file = directory.file("a.csv"), header = "epoch,loss,val_loss\r\n";
  Logged run(directory.path(), "filename: a.csv");
  run.add(0, 1);
  run.add(1, 2);
  const Json state = run.state();
  const std::string whole = read_text(file), one = header + "0,1.0,0.5\r\n";
  REQUIRE(whole == one + "1,2.0,0.5\r\n");
  for (std::size_t left = 0; left <= whole.size(); ++left) {
    CAPTURE(left);
    test::write_text(file, whole.substr(0, left));
    Logged(directory.path(), "filename: a.csv", &state).add(2, 3);
    const std::string kept = left == whole.size() ? whole : left < one.size() ? header : one;
    CHECK(read_text(file) == kept + "2,3.0,0.5\r\n");
  }
  // Of a file that other runs write, too, nothing goes.
  const std::string shared = directory.file("shared.csv");
  const std::string arguments = "append: true, filename: '" + shared + "'";
  Logged a(directory.file("a"), arguments);
  a.add(0, 1);
  const Json before = a.state();
  test::write_text(shared, header + "0,1.");
  Logged(directory.file("a"), arguments, &before).add(1, 2);
  CHECK(read_text(shared) == header + "0,1.\r\n1,2.0,0.5\r\n");
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
