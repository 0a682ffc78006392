#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/terminal.h"
#include "train/logs.h"

namespace meshwork {

/// Keras's progress bar, byte for byte, on a live terminal:
///
///     Epoch 1/3
///     469/469 ━━━━━━━━━━━━━━━━━━━━ 75s 160ms/step - accuracy: 0.9000 - loss: 0.3512
///
/// Elsewhere, and for verbose=2, one plain line per epoch, without colours:
///
///     469/469 - 75s - 160ms/step - accuracy: 0.9000 - loss: 0.3512
///
/// Values are shown as given, so give running means; names stand in the order in which they came
/// first. Where the terminal is narrower than the line, the live line is shortened: first the bar,
/// then the time per step, then metrics from the right; the last line of an epoch is always whole.
class ProgressBar {
 public:
  /// `verbose`: 0 silent, 1 bar, 2 a line per epoch. `clock` gives seconds.
  ProgressBar(std::ostream& out, int verbose, Terminal terminal = {},
              std::function<double()> clock = steady_seconds);
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  /// Ends a line that is still being drawn, so that what is printed next stands on its own.
  ~ProgressBar();

  /// Starts a bar of `steps` steps, if known. For evaluate and predict.
  /// `done`: steps of it that another run has done before.
  void begin(std::optional<std::int64_t> steps, std::int64_t done = 0);

  /// As begin, after the line "Epoch 1/3" (`epoch` counts from 0) if there is more than one.
  void begin_epoch(std::int64_t epoch, std::int64_t epochs, std::optional<std::int64_t> steps,
                   std::int64_t done = 0);

  /// `step` steps are done. Draws at most once in 0.05 s, and asks for `logs` only then.
  void update(std::int64_t step, const std::function<Logs()>& logs);

  /// Prints a line of its own, whatever `verbose` is, below one that is still being drawn.
  void print(const std::string& line);

  /// The bar is complete; `logs` may bring new names (val_loss).
  void finish(const Logs& logs);

 private:
  struct Line;

  void remember(const Logs& logs);
  double seconds_per_step(std::int64_t step, double now) const;
  Line compose(std::int64_t step, double now, bool last) const;
  void write(const std::string& text);
  void draw(const Line& line, bool last);
  void print_plain(double now);

  std::ostream& out_;
  int verbose_;
  Terminal terminal_;
  std::function<double()> clock_;

  std::optional<std::int64_t> target_;
  std::vector<std::string> names_;
  Logs values_;
  std::int64_t done_ = 0;
  std::int64_t seen_ = 0;
  double start_ = 0;
  std::optional<double> after_first_step_;
  std::optional<double> last_drawn_;
  std::size_t drawn_width_ = 0;
  bool line_open_ = false;
};

}  // namespace meshwork
