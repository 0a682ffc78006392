#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace meshwork {

/// Seconds that passes took. Devices add to it at once.
class PassTimes {
 public:
  void add(std::string_view name, double seconds);
  /// "name  runs  seconds" in the order in which passes first ran, and the sum.
  std::string table() const;

 private:
  struct Row {
    std::string name;
    int runs = 0;
    double seconds = 0;
  };
  mutable std::mutex mutex_;
  std::vector<Row> rows_;
};

/// Receives the text of the program after a pass.
using Dump = std::function<void(std::string_view pass, const std::string& text)>;

/// Who is told of passes.
struct Watch {
  Dump dump;
  PassTimes* times = nullptr;
};

/// A step of the compiler: changes a state that holds what the passes before it have made.
template <class State>
struct Pass {
  std::string name;
  std::function<void(State&)> run;
  void (*verify)(State&) = nullptr;  ///< throws CheckFailure
  std::string (*print)(const State&) = nullptr;
  bool is_fusion = false;  ///< `fusion: {NAME: false}` switches it off
};

/// Runs a pass with its check, timed, and shows the program after it.
template <class State>
void run_pass(const Pass<State>& pass, State& state, const Watch& watch) {
  const auto begin = std::chrono::steady_clock::now();
  pass.run(state);
  if (pass.verify != nullptr) pass.verify(state);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  if (watch.times != nullptr) watch.times->add(pass.name, took.count());
  if (watch.dump) watch.dump(pass.name, pass.print(state));
}

}  // namespace meshwork
