// Files for TensorBoard, read back by the rules of their format.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>

#include "state/checkpoint.h"
#include "support/errors.h"
#include "support/full_disk.h"
#include "train/event_file.h"
#include "whole_runs.h"

namespace fs = std::filesystem;

using namespace meshwork;
using namespace meshwork::testing::runs;
using meshwork::test::read_text;
using meshwork::test::TempDirectory;
using meshwork::test::write_text;

namespace {

template <class T>
T number_at(const std::string& text, std::size_t at) {
  T value;
  REQUIRE(at + sizeof value <= text.size());
  std::memcpy(&value, text.data() + at, sizeof value);
  return value;
}

std::uint32_t masked_crc(const std::string& data) {
  const std::uint32_t crc = crc32c(data);
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8U;
}

/// The data of all records, whose lengths and checksums must be right.
std::vector<std::string> records_in(const std::string& text) {
  std::vector<std::string> records;
  for (std::size_t at = 0; at < text.size();) {
    const auto length = static_cast<std::size_t>(number_at<std::uint64_t>(text, at));
    CHECK(number_at<std::uint32_t>(text, at + 8) == masked_crc(text.substr(at, 8)));
    const std::string data = text.substr(at + 12, length);
    CHECK(number_at<std::uint32_t>(text, at + 12 + length) == masked_crc(data));
    records.push_back(data);
    at += 16 + length;
  }
  return records;
}

struct Fields {
  std::map<int, std::uint64_t> numbers;
  std::map<int, std::string> bytes;
};

std::uint64_t read_varint(const std::string& text, std::size_t& at) {
  std::uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = static_cast<std::uint8_t>(text.at(at++));
    value |= std::uint64_t{byte & 0x7fU} << shift;
    if (byte < 0x80) return value;
  }
}

/// A protocol-buffer message.
Fields fields_of(const std::string& text) {
  Fields fields;
  for (std::size_t at = 0; at < text.size();) {
    const std::uint64_t key = read_varint(text, at);
    const int field = static_cast<int>(key >> 3);
    std::size_t bytes = 0;
    switch (key & 7) {
      case 0:
        fields.numbers[field] = read_varint(text, at);
        continue;
      case 1:
        bytes = 8;
        break;
      case 2:
        bytes = read_varint(text, at);
        break;
      case 5:
        bytes = 4;
        break;
      default:
        FAIL("an unknown kind of field");
    }
    fields.bytes[field] = text.substr(at, bytes);
    at += bytes;
  }
  return fields;
}

struct Scalar {
  std::string tag;
  std::uint64_t step;
  float value;
  bool operator==(const Scalar&) const = default;
};

std::vector<Scalar> scalars_in(const std::string& path) {
  const std::vector<std::string> records = records_in(read_text(path));
  REQUIRE(!records.empty());
  CHECK(fields_of(records[0]).bytes[3] == "brain.Event:2");
  std::vector<Scalar> scalars;
  for (std::size_t i = 1; i < records.size(); ++i) {
    Fields event = fields_of(records[i]);
    CHECK(number_at<double>(event.bytes.at(1), 0) > 1.7e9);
    Fields value = fields_of(fields_of(event.bytes.at(5)).bytes.at(1));
    scalars.push_back(
        {value.bytes.at(1), event.numbers.at(2), number_at<float>(value.bytes.at(2), 0)});
  }
  return scalars;
}

std::string only_file_in(const std::string& directory) {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(directory)) files.push_back(entry.path());
  REQUIRE(files.size() == 1);
  CHECK(fs::path(files[0]).filename().string().starts_with("events.out.tfevents."));
  return files[0];
}

std::string text_with(const std::string& arguments, const std::string& checkpoint = "false") {
  return text_of("{SGD: {learning_rate: 0.1}}",
                 "batch_size: 8, epochs: 3, validation: true, callbacks: [TensorBoard: {" +
                     arguments + "}]") +
         "checkpoint: " + checkpoint + "\n";
}

}  // namespace

TEST_CASE("CRC-32C is that of RFC 3720") {
  CHECK(crc32c("") == 0);
  CHECK(crc32c("123456789") == 0xe3069283U);
  CHECK(crc32c(std::string(32, '\0')) == 0x8a9136aaU);
}

TEST_CASE("scalars, on from where a file was cut") {
  const TempDirectory directory;
  std::string path;
  std::uint64_t bytes = 0;
  {
    EventFile file(directory.file("new/train"));
    file.add_scalar("epoch_loss", 0, 0.5);
    bytes = file.bytes();
    file.add_scalar("epoch_loss", 300, std::nan(""));
    path = file.path();
  }
  const std::vector<Scalar> scalars = scalars_in(path);
  REQUIRE(scalars.size() == 2);
  CHECK(scalars[0] == Scalar{"epoch_loss", 0, 0.5F});
  CHECK(scalars[1].step == 300);
  CHECK(std::isnan(scalars[1].value));
  EventFile(path, bytes).add_scalar("epoch_mae", 1, 2.0);
  CHECK(scalars_in(path) == std::vector<Scalar>{{"epoch_loss", 0, 0.5F}, {"epoch_mae", 1, 2.0F}});
}

TEST_CASE("a record that does not fit leaves nothing behind") {
  const TempDirectory directory;
  EventFile file(directory.file("train"));
  file.add_scalar("epoch_loss", 0, 0.5);
  const std::uint64_t bytes = file.bytes();
  {
    const test::FullDisk full(bytes + 20);
    CHECK_THROWS_AS(file.add_scalar("epoch_loss", 1, 0.25), Error);
  }
  CHECK(file.bytes() == bytes);
  CHECK(scalars_in(file.path()).size() == 1);
}

TEST_CASE("TensorBoard begins another file where one has failed") {
  const TempDirectory directory;
  const std::string text = text_with("update_freq: epoch", "{every: 1 step, keep: 100}");
  const std::string run = directory.path();
  fs::create_directories(run + "/logs");
  write_text(run + "/logs/validation", "no directory");
  const Outcome failed = fit_on(text, "1x1", run);
  CHECK(failed.out.find("warning: ") != std::string::npos);
  fs::remove(run + "/logs/validation");
  const std::string first = only_file_in(run + "/logs/train");
  const std::string before = read_text(first);
  const std::vector<std::string> checkpoints = list_checkpoints(run + "/checkpoints");
  for (std::size_t i = 4; i < checkpoints.size(); ++i) remove_checkpoint(checkpoints[i]);
  REQUIRE(fit_on(text, "1x1", run, 0, {.rerun = Rerun::kResume}).error == "");
  CHECK(read_text(first) == before);
  CHECK(std::distance(fs::directory_iterator(run + "/logs/train"), {}) == 2);
  CHECK_FALSE(scalars_in(only_file_in(run + "/logs/validation")).empty());
}

TEST_CASE("TensorBoard gets what Keras writes, from one device") {
  const TempDirectory directory;
  const Outcome outcome = fit_on(text_with("update_freq: 2"), "2x2", directory.path());
  REQUIRE(outcome.error == "");
  const std::vector<Scalar> train = scalars_in(only_file_in(directory.file("logs/train")));
  // Three batches an epoch: every second one of nine, counted from 1, and two logs of each.
  std::map<std::string, std::vector<std::uint64_t>> steps;
  for (const Scalar& scalar : train) steps[scalar.tag].push_back(scalar.step);
  CHECK(steps == decltype(steps){{"batch_loss", {2, 4, 6, 8}},
                                 {"batch_mae", {2, 4, 6, 8}},
                                 {"epoch_learning_rate", {0, 1, 2}},
                                 {"epoch_loss", {0, 1, 2}},
                                 {"epoch_mae", {0, 1, 2}}});
  CHECK(train.back().value == static_cast<float>(outcome.result.logs.at("mae")));
  const std::vector<Scalar> validation =
      scalars_in(only_file_in(directory.file("logs/validation")));
  CHECK(validation.size() == 12);
  CHECK(validation.back() == Scalar{"evaluation_mae_vs_iterations", 9,
                                    static_cast<float>(outcome.result.logs.at("val_mae"))});
}

TEST_CASE("by default epochs alone; steps per second where they are wanted") {
  const TempDirectory directory;
  REQUIRE(
      fit_on(text_with("log_dir: boards, write_steps_per_second: true"), "1x1", directory.path())
          .error == "");
  std::set<std::string> tags;
  for (const Scalar& scalar : scalars_in(only_file_in(directory.file("boards/train")))) {
    tags.insert(scalar.tag);
    if (scalar.tag == "epoch_steps_per_second") CHECK(scalar.value > 0);
  }
  CHECK(tags == std::set<std::string>{"epoch_learning_rate", "epoch_loss", "epoch_mae",
                                      "epoch_steps_per_second"});
  tags.clear();
  for (const Scalar& scalar : scalars_in(only_file_in(directory.file("boards/validation")))) {
    tags.insert(scalar.tag);
  }
  CHECK(tags == std::set<std::string>{"epoch_loss", "epoch_mae", "evaluation_loss_vs_iterations",
                                      "evaluation_mae_vs_iterations"});
}

TEST_CASE("TensorBoard gets the learning rate after each epoch, also that of a schedule") {
  const TempDirectory directory;
  const auto rates = [&](const std::string& optimizer, const std::string& callbacks) {
    const std::string text =
        text_of(optimizer, "batch_size: 8, epochs: 2, callbacks: [" + callbacks + "]");
    REQUIRE(fit_on(text, "1x1", directory.path()).error == "");
    std::vector<float> found;
    for (const Scalar& scalar : scalars_in(only_file_in(directory.file("logs/train")))) {
      if (scalar.tag == "epoch_learning_rate") found.push_back(scalar.value);
    }
    fs::remove_all(directory.file("logs"));
    return found;
  };
  // Three steps an epoch.
  CHECK(rates("{SGD: {learning_rate: {PiecewiseConstantDecay: {boundaries: [2, 5], values: [0.5, "
              "0.25, 0.125]}}}}",
              "TensorBoard") == std::vector<float>{0.25F, 0.125F});
  CHECK(rates("{SGD: {learning_rate: 0.0625}}",
              "ReduceLROnPlateau: {monitor: loss, mode: max, patience: 1, factor: 0.5}, "
              "TensorBoard") == std::vector<float>{0.0625F, 0.03125F});
}

TEST_CASE("a run that goes on adds to the files it began") {
  const TempDirectory directory;
  const std::string text = text_with("update_freq: batch", "{every: 1 step, keep: 100}");
  const std::string run = directory.path();
  REQUIRE(fit_on(text, "1x1", run).error == "");
  const std::string file = only_file_in(run + "/logs/train");
  const std::vector<Scalar> whole = scalars_in(file);
  const std::vector<std::string> checkpoints = list_checkpoints(run + "/checkpoints");
  for (std::size_t i = 4; i < checkpoints.size(); ++i) remove_checkpoint(checkpoints[i]);
  REQUIRE(fit_on(text, "1x1", run, 0, {.rerun = Rerun::kResume}).error == "");
  CHECK(only_file_in(run + "/logs/train") == file);
  CHECK(scalars_in(file) == whole);
}

TEST_CASE("files that were begun behind the checkpoint of a run that goes on are not there twice") {
  const TempDirectory directory;
  const std::string text = text_with("", "{every: 1 step, keep: 100}");
  const std::string run = directory.path();
  // Of a run before that is overwritten; another program's.
  fs::create_directories(run + "/logs/train");
  const std::vector<std::string> theirs{run + "/logs/train/events.out.tfevents.1.before",
                                        run + "/logs/train/notes.txt"};
  for (const std::string& file : theirs) write_text(file, "");
  const auto scalars = [&] {
    std::map<std::string, std::vector<Scalar>> all;
    for (const std::string folder : {"train", "validation"}) {
      for (const auto& entry : fs::directory_iterator(run + "/logs/" + folder)) {
        if (fs::file_size(entry.path()) == 0) continue;
        for (const Scalar& scalar : scalars_in(entry.path().string())) {
          all[folder].push_back(scalar);
        }
      }
    }
    return all;
  };
  REQUIRE(fit_on(text, "1x1", run).error == "");
  const auto whole = scalars();
  // Within the first epoch there is no file yet.
  for (const std::size_t step : {5, 1, 0}) {
    const std::vector<std::string> checkpoints = list_checkpoints(run + "/checkpoints");
    for (std::size_t i = step + 1; i < checkpoints.size(); ++i) remove_checkpoint(checkpoints[i]);
    REQUIRE(fit_on(text, "1x1", run, 0, {.rerun = Rerun::kResume}).error == "");
    CHECK(scalars() == whole);
    for (const std::string& file : theirs) CHECK(fs::exists(file));
  }
}

TEST_CASE("a copy of a run leaves the files of the run alone") {
  const TempDirectory directory;
  const std::string run = directory.file("run"), copy = directory.file("copy");
  for (const std::string& logs : {std::string("logs"), directory.file("logs")}) {
    const std::string text =
        text_with("update_freq: batch, log_dir: '" + logs + "'", "{every: 1 step, keep: 100}");
    REQUIRE(fit_on(text, "1x1", run).error == "");
    const std::string file = only_file_in((fs::path(run) / logs / "train").string());
    const std::string before = read_text(file);
    fs::copy(run, copy, fs::copy_options::recursive);
    const std::vector<std::string> checkpoints = list_checkpoints(copy + "/checkpoints");
    for (std::size_t i = 4; i < checkpoints.size(); ++i) remove_checkpoint(checkpoints[i]);
    REQUIRE(fit_on(text, "1x1", copy, 0, {.rerun = Rerun::kResume}).error == "");
    CHECK(read_text(file) == before);
    if (logs == "logs") {
      CHECK(scalars_in(only_file_in(copy + "/logs/train")) == scalars_in(file));
    }
    fs::remove_all(run);
    fs::remove_all(copy);
  }
}

TEST_CASE("a run that was moved goes on; where a file is gone it begins another") {
  const TempDirectory directory;
  const std::string run = directory.file("run"), moved = directory.file("moved");
  const std::string text = text_with("update_freq: batch", "{every: 1 step, keep: 100}");
  REQUIRE(fit_on(text, "1x1", run).error == "");
  const std::vector<Scalar> whole = scalars_in(only_file_in(run + "/logs/train"));
  fs::rename(run, moved);
  const std::vector<std::string> checkpoints = list_checkpoints(moved + "/checkpoints");
  for (std::size_t i = 4; i < checkpoints.size(); ++i) remove_checkpoint(checkpoints[i]);
  const std::string file = only_file_in(moved + "/logs/train");
  fs::remove_all(moved + "/logs/validation");
  REQUIRE(fit_on(text, "1x1", moved, 0, {.rerun = Rerun::kResume}).error == "");
  CHECK(scalars_in(only_file_in(moved + "/logs/train")) == whole);
  CHECK(scalars_in(only_file_in(moved + "/logs/validation")).size() == 8);
  CHECK_FALSE(fs::exists(run));
}

TEST_CASE("what TensorBoard does not get here is refused") {
  const TempDirectory directory;
  const auto complaint = [&](const std::string& arguments) {
    return test::error_of([&] { fit_on(text_with(arguments), "1x1", directory.path()); });
  };
  CHECK(complaint("histogram_freq: 1")
            .find("TensorBoard: histogram_freq is not supported; scalars "
                  "alone are written, so leave it out") != std::string::npos);
  CHECK(complaint("update_freq: 0").find("update_freq is 0; give 1 or more") != std::string::npos);
  CHECK(fit_on(text_with("write_graph: false, histogram_freq: 0"), "1x1", directory.path()).error ==
        "");
}
