#include "train/progress_bar.h"

#include <doctest/doctest.h>

#include <limits>
#include <sstream>

#include "base/error.h"

namespace meshwork {
namespace {

// What Keras 3.15.1 wrote for the same steps at the same times.
const std::string kFirst =
    "\r\x1b[1m  1/469\x1b[0m \x1b[37m━━━━━━━━━━━━━━━━━━━━\x1b[0m \x1b[1m39:00\x1b[0m 5s/step - "
    "accuracy: 0.5000 - loss: 2.3026";
const std::string kThird =
    "\r\x1b[1m  3/469\x1b[0m \x1b[37m━━━━━━━━━━━━━━━━━━━━\x1b[0m \x1b[1m1:33\x1b[0m 200ms/step - "
    "accuracy: 0.5500 - loss: 2.0000";
const std::string kLast =
    "\r\x1b[1m469/469\x1b[0m \x1b[32m━━━━━━━━━━━━━━━━━━━━\x1b[0m\x1b[37m\x1b[0m \x1b[1m75s\x1b[0m "
    "150ms/step - accuracy: 0.9000 - loss: 5.0000e-04 - val_loss: 1234.5000\n";

std::string back(std::size_t columns) { return std::string(columns, '\b'); }

/// A bar with a clock to set.
struct Stage {
  explicit Stage(int verbose = 1, bool live = true, int columns = 0)
      : bar(out, verbose, {.live = live, .columns = [columns] { return columns; }},
            [this] { return now; }) {}

  void update(double at, std::int64_t step, const Logs& logs) {
    now = 1000 + at;
    bar.update(step, [&] {
      ++asked;
      return logs;
    });
  }
  void finish(double at, const Logs& logs) {
    now = 1000 + at;
    bar.finish(logs);
  }
  std::string take() {
    std::string text = out.str();
    out.str("");
    return text;
  }

  double now = 1000;
  int asked = 0;  ///< times that logs were asked for
  std::ostringstream out;
  ProgressBar bar;
};

TEST_CASE("the bar is Keras's, byte for byte") {
  Stage stage;
  stage.bar.begin(469);
  stage.update(5, 1, {{"loss", 2.3026}, {"accuracy", 0.5}});
  CHECK(stage.take() == kFirst);
  stage.update(5.01, 2, {{"loss", 2.2}, {"accuracy", 0.4}});
  CHECK(stage.take().empty());  // too soon
  CHECK(stage.asked == 1);
  stage.update(5.4, 3, {{"loss", 2.0}, {"accuracy", 0.55}});
  CHECK(stage.take() == back(76) + kThird);
  stage.finish(75.2, {{"loss", 5e-4}, {"accuracy", 0.9}, {"val_loss", 1234.5}});
  CHECK(stage.take() == back(78) + kLast);
}

TEST_CASE("times and cells are rounded as in Keras") {
  Stage stage;
  stage.bar.begin(100000);
  stage.update(1, 1, {});
  CHECK(stage.take() ==
        "\r\x1b[1m     1/100000\x1b[0m \x1b[37m━━━━━━━━━━━━━━━━━━━━\x1b[0m \x1b[1m27:46:39\x1b[0m "
        "1s/step");
  stage.update(1e5, 99000, {});
  CHECK(stage.take() == back(51) +
                            "\r\x1b[1m 99000/100000\x1b[0m \x1b[32m━━━━━━━━━━━━━━━━━━━\x1b[0m"
                            "\x1b[37m━\x1b[0m \x1b[1m16:50\x1b[0m 1s/step   ");

  stage.now = 1000;
  stage.bar.begin(3);
  stage.update(0.0002, 1, {{"loss", 1.0}});
  CHECK(stage.take() ==
        "\r\x1b[1m1/3\x1b[0m \x1b[32m━━━━━━\x1b[0m\x1b[37m━━━━━━━━━━━━━━\x1b[0m \x1b[1m0s\x1b[0m "
        "200us/step - loss: 1.0000");
  stage.update(0.1002, 2, {{"loss", -1.0}});
  CHECK(stage.take() == back(53) +
                            "\r\x1b[1m2/3\x1b[0m \x1b[32m━━━━━━━━━━━━━\x1b[0m\x1b[37m━━━━━━━\x1b[0m"
                            " \x1b[1m0s\x1b[0m 100ms/step - loss: -1.0000");
}

TEST_CASE("an unknown number of steps, a NaN and a small loss") {
  Stage stage;
  stage.bar.begin(std::nullopt);
  stage.update(2, 1, {{"loss", 1.0}});
  CHECK(stage.take() == "\r      1/Unknown \x1b[1m2s\x1b[0m 2s/step - loss: 1.0000");
  stage.update(3, 2, {{"loss", -std::numeric_limits<double>::quiet_NaN()}});
  CHECK(stage.take() == back(41) + "\r      2/Unknown \x1b[1m3s\x1b[0m 1s/step - loss: nan   ");
  stage.finish(4, {{"loss", 0.001}});
  CHECK(stage.take() ==
        back(38) +
            "\r\x1b[1m2/2\x1b[0m \x1b[32m━━━━━━━━━━━━━━━━━━━━\x1b[0m\x1b[37m\x1b[0m "
            "\x1b[1m4s\x1b[0m 2s/step - loss: 1.0000e-03\n");
}

TEST_CASE("names that come late stand last; alphabetical among each other") {
  Stage stage(2);
  stage.bar.begin(1);
  stage.finish(1, {{"zeta", 1.0}, {"loss", 1.0}, {"accuracy", 1.0}});
  CHECK(stage.take() == "1/1 - 1s - 1s/step - accuracy: 1.0000 - loss: 1.0000 - zeta: 1.0000\n");

  Stage live;
  live.bar.begin(1);
  live.update(1, 1, {{"loss", 1.0}, {"zeta", 1.0}});
  live.take();
  live.finish(1, {{"loss", 1.0}, {"zeta", 1.0}, {"val_loss", 1.0}});
  CHECK(live.take().ends_with(" - loss: 1.0000 - zeta: 1.0000 - val_loss: 1.0000\n"));
}

TEST_CASE("without a terminal an epoch is a plain line") {
  for (const int verbose : {1, 2}) {
    Stage stage(verbose, verbose == 2);
    stage.bar.begin_epoch(0, 5, 469);
    stage.update(5, 1, {{"loss", 2.0}});
    stage.update(6, 2, {{"loss", 2.0}});
    CHECK(stage.take() == "Epoch 1/5\n");
    stage.finish(75, {{"accuracy", 0.9}, {"loss", 1.0}, {"mae", -0.5}});
    CHECK(stage.take() ==
          "469/469 - 75s - 160ms/step - accuracy: 0.9000 - loss: 1.0000 - mae: -5.0000e-01\n");
    stage.now = 1100;
    stage.bar.begin_epoch(4, 5, 1);
    stage.finish(100.5, {});
    CHECK(stage.take() == "Epoch 5/5\n1/1 - 0s - 500ms/step\n");
  }
}

TEST_CASE("verbose=0 is silent, one epoch has no heading, other values are refused") {
  Stage silent(0);
  silent.bar.begin_epoch(0, 5, 3);
  silent.update(1, 1, {{"loss", 1.0}});
  silent.finish(2, {{"loss", 1.0}});
  CHECK(silent.take().empty());

  Stage one;
  one.bar.begin_epoch(0, 1, 3);
  CHECK(one.take().empty());
  CHECK_THROWS_WITH_AS(Stage(3), "verbose must be 0, 1 or 2, not 3", Error);
}

TEST_CASE("each epoch starts anew") {
  Stage stage;
  stage.bar.begin_epoch(0, 2, 2);
  stage.update(1, 1, {{"loss", 1.0}});
  stage.finish(2, {{"loss", 1.0}, {"val_loss", 1.0}});
  stage.take();
  stage.bar.begin_epoch(1, 2, 2);
  stage.update(5, 1, {{"loss", 0.5}});
  CHECK(stage.take() ==
        "Epoch 2/2\n\r\x1b[1m1/2\x1b[0m \x1b[32m━━━━━━━━━━\x1b[0m\x1b[37m━━━━━━━━━━\x1b[0m "
        "\x1b[1m3s\x1b[0m 3s/step - loss: 0.5000");
}

std::size_t visible_width(const std::string& line) {
  std::size_t width = 0;
  bool escape = false;
  for (const char c : line) {
    if (c == '\x1b') escape = true;
    const bool continues = (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
    if (!escape && !continues && c != '\r' && c != '\b' && c != '\n') ++width;
    if (escape && c == 'm') escape = false;
  }
  return width;
}

TEST_CASE("in a narrow terminal the live line is shortened, the last line whole") {
  for (int columns = 1; columns <= 100; ++columns) {
    CAPTURE(columns);
    Stage stage(1, true, columns);
    stage.bar.begin(469);
    stage.update(5, 1, {{"loss", 2.3026}, {"accuracy", 0.5}});
    const std::string line = stage.take();
    CHECK(visible_width(line) <= std::max<std::size_t>(static_cast<std::size_t>(columns) - 1, 1));
    CHECK((line == kFirst) == (columns > 76));
    stage.finish(75.2, {{"loss", 5e-4}, {"accuracy", 0.9}, {"val_loss", 1234.5}});
    CHECK(stage.take().ends_with(kLast));
  }
  Stage stage(1, true, 61);
  stage.bar.begin(469);
  stage.update(5, 1, {{"loss", 2.3026}, {"accuracy", 0.5}});
  CHECK(stage.take() ==
        "\r\x1b[1m  1/469\x1b[0m \x1b[37m━━━━\x1b[0m \x1b[1m39:00\x1b[0m 5s/step - "
        "accuracy: 0.5000 - loss: 2.3026");
}

TEST_CASE("a printed line stands below the bar, which is drawn anew") {
  Stage stage;
  stage.bar.print("before");
  CHECK(stage.take() == "before\n");
  stage.bar.begin(469);
  stage.update(5, 1, {{"loss", 2.3026}, {"accuracy", 0.5}});
  CHECK(stage.take() == kFirst);
  stage.bar.print("Epoch 1: done");
  CHECK(stage.take() == "\nEpoch 1: done\n");
  stage.update(5.4, 3, {{"loss", 2.0}, {"accuracy", 0.55}});
  CHECK(stage.take() == kThird);
  Stage silent(0);
  silent.bar.print("said all the same");
  CHECK(silent.take() == "said all the same\n");
}

TEST_CASE("a bar that is given up ends its line") {
  std::ostringstream out;
  {
    ProgressBar bar(out, 1, {.live = true, .columns = [] { return 0; }}, [] { return 0.0; });
    bar.begin(3);
    bar.update(1, [] { return Logs{}; });
  }
  CHECK(out.str().ends_with("0s/step\n"));
}

}  // namespace
}  // namespace meshwork
