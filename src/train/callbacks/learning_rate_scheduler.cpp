// lr = schedule(epoch). A schedule is one of three:
//   {ExponentialDecay: {..}}    any of the optimizers' schedules, with epochs in place of steps
//   {0: 0.01, 10: 0.001}        from each of these epochs on; before the first the rate stays
//   [0.1, 0.1, 0.05]            epoch by epoch, the last one for all that follow
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "optim/schedules/schedule.h"
#include "train/callbacks/monitor.h"

namespace meshwork::callbacks {
namespace {

/// Gives the rate of an epoch from its number and the rate before it.
using EpochSchedule = std::function<double(std::int64_t epoch, double rate)>;

double read_rate(const config::Value& value) {
  const double rate = value.as_real("a learning rate of the schedule");
  if (!(rate >= 0)) fail_at(value.at, "a learning rate is {}; give 0 or more", rate);
  return rate;
}

/// Whether a key can only be meant for an epoch; names of schedules begin with a letter.
bool is_number(const config::Value::Entry& entry) {
  return entry.key.find_first_of("+-.0123456789") == 0;
}

bool is_epoch(const config::Value::Entry& entry) {
  return entry.key.find_first_not_of("0123456789") == std::string::npos && !entry.key.empty();
}

EpochSchedule from_table(const config::Value& table) {
  std::map<std::int64_t, double> rates;
  for (const config::Value::Entry& entry : table.map) {
    if (is_number(entry) && !is_epoch(entry)) {
      fail_at(entry.at, "schedule: '{}' is no epoch; epochs are whole numbers from 0 on",
              entry.key);
    }
    if (!is_epoch(entry)) {
      fail_at(entry.at, "schedule: '{}' is no epoch, but other keys are; epochs count from 0",
              entry.key);
    }
    const config::Value key = config::Value::of_text(entry.key, entry.at);
    rates[key.as_integer("an epoch of the schedule")] = read_rate(entry.value);
  }
  return [rates](std::int64_t epoch, double rate) {
    const auto after = rates.upper_bound(epoch);
    return after == rates.begin() ? rate : std::prev(after)->second;
  };
}

EpochSchedule from_list(const config::Value& list) {
  std::vector<double> rates;
  for (const config::Value& rate : list.list) rates.push_back(read_rate(rate));
  if (rates.empty()) fail_at(list.at, "schedule is empty; list learning rates");
  return [rates](std::int64_t epoch, double) {
    return rates[std::min(static_cast<std::size_t>(epoch), rates.size() - 1)];
  };
}

EpochSchedule read_epoch_schedule(const config::Value& value) {
  if (value.is_list()) return from_list(value);
  const bool is_table =
      value.is_map() && std::any_of(value.map.begin(), value.map.end(), is_number);
  if (is_table) return from_table(value);
  const Schedule schedule = read_schedule(&value, 0);
  return [schedule](std::int64_t epoch, double) { return schedule(epoch); };
}

class LearningRateScheduler : public Callback {
 public:
  explicit LearningRateScheduler(config::Reader& args)
      : schedule_(read_epoch_schedule(args.require("schedule"))), verbose_(read_verbose(args)) {}

  void begin_epoch(std::int64_t epoch, Training& training) override {
    const double rate = schedule_(epoch, static_cast<double>(training.learning_rate));
    training.learning_rate = static_cast<float>(rate);
    if (!verbose_) return;
    training.say(fmt::format("Epoch {}: LearningRateScheduler setting learning rate to {}.",
                             epoch + 1, python_text(rate)));
  }

  void end_epoch(std::int64_t, Logs& logs, Training& training) override {
    logs["learning_rate"] = static_cast<double>(training.learning_rate);
  }

 private:
  EpochSchedule schedule_;
  bool verbose_;
};

std::unique_ptr<Callback> read(config::Reader& args, const CallbackContext&) {
  return std::make_unique<LearningRateScheduler>(args);
}

}  // namespace

const CallbackDef kLearningRateScheduler{
    .names = {"LearningRateScheduler", "learning_rate_scheduler"},
    .sets_learning_rate = true,
    .read = read};

}  // namespace meshwork::callbacks
