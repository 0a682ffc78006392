#include "train/progress_bar.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/local_work.h"
#include "base/utf8.h"

namespace meshwork {
namespace {

constexpr int kCells = 20;
constexpr double kInterval = 0.05;  // seconds
constexpr std::string_view kBold = "\x1b[1m";
constexpr std::string_view kGreen = "\x1b[32m";
constexpr std::string_view kWhite = "\x1b[37m";
constexpr std::string_view kReset = "\x1b[0m";

std::string repeat(std::string_view text, std::int64_t times) {
  std::string result;
  for (std::int64_t i = 0; i < times; ++i) result += text;
  return result;
}

/// " 7/469": the step is as wide as the target.
std::string show_count(std::int64_t step, std::int64_t target) {
  const std::string whole = std::to_string(target);
  return fmt::format("{:>{}}/{}", step, whole.size(), whole);
}

std::string show_eta(double eta) {
  const auto seconds = static_cast<std::int64_t>(eta);
  if (eta > 3600) {
    return fmt::format("{}:{:02}:{:02}", seconds / 3600, seconds % 3600 / 60, seconds % 60);
  }
  if (eta > 60) return fmt::format("{}:{:02}", seconds / 60, seconds % 60);
  return fmt::format("{}s", seconds);
}

std::string show_per_step(double seconds) {
  if (seconds >= 1 || seconds == 0) return fmt::format("{:.0f}s/step", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.0f}ms/step", seconds * 1e3);
  return fmt::format("{:.0f}us/step", seconds * 1e6);
}

/// `magnitude` decides between 0.1234 and 1.2345e-04: |value| in the bar, value itself in the plain
/// line, where Keras writes negative values with an exponent.
std::string show_metric(const std::string& name, double value, double magnitude) {
  value = without_nan_sign(value);
  if (magnitude > 1e-3) return fmt::format(" - {}: {:.4f}", name, value);
  return fmt::format(" - {}: {:.4e}", name, value);
}

}  // namespace

/// A line before colours: what can be left out is apart.
struct ProgressBar::Line {
  std::string count;
  std::int64_t cells = 0;  ///< of the bar; 0: no bar
  double progress = 0;     ///< of them filled, 0 to 1
  std::string time;        ///< ETA or total
  std::string per_step;
  std::vector<std::string> metrics;

  std::size_t width() const {
    std::size_t result = width_of(count);
    if (cells > 0) result += 1 + static_cast<std::size_t>(cells);
    if (!time.empty()) result += 1 + width_of(time);
    if (!per_step.empty()) result += 1 + width_of(per_step);
    for (const std::string& metric : metrics) result += width_of(metric);
    return result;
  }

  /// Leaves out what matters least until the line takes at most `limit` columns.
  void shorten(std::size_t limit) {
    while (width() > limit && cells > 0) --cells;
    if (width() > limit) per_step.clear();
    while (width() > limit && !metrics.empty()) metrics.pop_back();
    if (width() > limit) time.clear();
    if (width() > limit) count.resize(limit);
  }

  std::string render() const {
    std::string text = count;
    if (cells > 0) {
      const auto filled = static_cast<std::int64_t>(static_cast<double>(cells) * progress);
      text = fmt::format("{}{}{} ", kBold, count, kReset);
      if (filled > 0) text += fmt::format("{}{}{}", kGreen, repeat("━", filled), kReset);
      text += fmt::format("{}{}{}", kWhite, repeat("━", cells - filled), kReset);
    }
    if (!time.empty()) text += fmt::format(" {}{}{}", kBold, time, kReset);
    if (!per_step.empty()) text += " " + per_step;
    for (const std::string& metric : metrics) text += metric;
    return text;
  }
};

ProgressBar::ProgressBar(std::ostream& out, int verbose, Terminal terminal,
                         std::function<double()> clock)
    : out_(out), verbose_(verbose), terminal_(std::move(terminal)), clock_(std::move(clock)) {
  if (verbose < 0 || verbose > 2) fail("verbose must be 0, 1 or 2, not {}", verbose);
  if (verbose == 1 && !terminal_.live) verbose_ = 2;
}

ProgressBar::~ProgressBar() {
  if (line_open_) write("\n");
}

/// Who reads it may let it wait.
void ProgressBar::write(const std::string& text) {
  const LocalWork work;
  out_ << text << std::flush;
}

void ProgressBar::begin(std::optional<std::int64_t> steps, std::int64_t done) {
  done_ = done;
  target_ = steps;
  names_.clear();
  values_.clear();
  seen_ = 0;
  start_ = clock_();
  after_first_step_.reset();
  last_drawn_.reset();
  drawn_width_ = 0;
}

void ProgressBar::begin_epoch(std::int64_t epoch, std::int64_t epochs,
                              std::optional<std::int64_t> steps, std::int64_t done) {
  if (verbose_ > 0 && epochs > 1) write(fmt::format("Epoch {}/{}\n", epoch + 1, epochs));
  begin(steps, done);
}

void ProgressBar::update(std::int64_t step, const std::function<Logs()>& logs) {
  seen_ = step;
  if (verbose_ != 1) return;
  const double now = clock_();
  if (!last_drawn_ || now - *last_drawn_ >= kInterval) {
    remember(logs());
    draw(compose(step, now, false), false);
    last_drawn_ = now;
  }
  if (step == done_ + 1) after_first_step_ = now;
}

void ProgressBar::print(const std::string& line) {
  write((line_open_ ? "\n" : "") + line + '\n');
  line_open_ = false;
  drawn_width_ = 0;
}

void ProgressBar::finish(const Logs& logs) {
  if (verbose_ == 0) return;
  remember(logs);
  const double now = clock_();
  if (!target_) target_ = seen_;
  if (verbose_ == 1) draw(compose(*target_, now, true), true);
  if (verbose_ == 2 && *target_ > 0) print_plain(now);
}

void ProgressBar::remember(const Logs& logs) {
  for (const auto& [name, value] : logs) {
    if (!values_.contains(name)) names_.push_back(name);
    values_[name] = value;
  }
}

double ProgressBar::seconds_per_step(std::int64_t step, double now) const {
  step -= done_;
  if (step <= 0) return 0;
  // The first step is not like the others: it builds primitives and warms caches.
  if (after_first_step_ && step > 1) {
    return (now - *after_first_step_) / static_cast<double>(step - 1);
  }
  return (now - start_) / static_cast<double>(step);
}

ProgressBar::Line ProgressBar::compose(std::int64_t step, double now, bool last) const {
  Line line;
  const double per_step = seconds_per_step(step, now);
  const bool known = target_ && *target_ > 0;
  if (known) {
    line.count = show_count(step, *target_);
    line.cells = kCells;
    line.progress = std::min(1.0, static_cast<double>(step) / static_cast<double>(*target_));
  } else {
    line.count = fmt::format("{:7}/Unknown", step);
  }
  if (known && !last) {
    const std::int64_t left = std::max<std::int64_t>(*target_ - step, 0);
    line.time = show_eta(per_step * static_cast<double>(left));
  } else {
    line.time = fmt::format("{:.0f}s", now - start_);
  }
  line.per_step = show_per_step(per_step);
  for (const std::string& name : names_) {
    const double value = values_.at(name);
    line.metrics.push_back(show_metric(name, value, std::abs(value)));
  }
  return line;
}

void ProgressBar::draw(const Line& whole, bool last) {
  Line line = whole;
  const int columns = terminal_.columns();
  // A line as wide as the terminal would already move the cursor on.
  if (!last && columns > 0) line.shorten(static_cast<std::size_t>(std::max(columns - 1, 1)));
  const std::size_t width = line.width();
  std::string text(drawn_width_, '\b');
  text += '\r' + line.render();
  if (drawn_width_ > width) text.append(drawn_width_ - width, ' ');
  if (last) text += '\n';
  write(text);
  drawn_width_ = width;
  line_open_ = !last;
}

void ProgressBar::print_plain(double now) {
  const double per_step = (now - start_) / static_cast<double>(*target_);
  std::string text = fmt::format("{} - {:.0f}s - {}", show_count(*target_, *target_), now - start_,
                                 show_per_step(per_step));
  for (const std::string& name : names_) {
    text += show_metric(name, values_.at(name), values_.at(name));
  }
  write(text + '\n');
}

}  // namespace meshwork
