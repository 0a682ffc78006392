#include "base/wait.h"

#include <doctest/doctest.h>

#include <array>
#include <cstdlib>

namespace meshwork {
namespace {

using std::chrono::nanoseconds;

constexpr std::array kNames{"OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME"};

/// An environment that says nothing of waiting.
struct Silence {
  Silence() { clear(); }
  ~Silence() { clear(); }
  static void clear() {
    for (const char* name : kNames) unsetenv(name);
  }
};

}  // namespace

TEST_CASE("wait: a spin goes on for its time and then ends for good") {
  for (const nanoseconds time : {nanoseconds(0), nanoseconds(kSpinTime), nanoseconds(3000000)}) {
    const auto begin = std::chrono::steady_clock::now();
    Spin spin(time);
    while (spin.again()) {
    }
    CHECK(std::chrono::steady_clock::now() - begin >= time);
    CHECK_FALSE(spin.again());
  }
}

TEST_CASE("wait: the user says how, and nobody spins where cores are fewer than threads") {
  const Silence silence;
  CHECK(spin_time(2, 2) == kSpinTime);
  CHECK(spin_time(3, 2) == nanoseconds(0));
  setenv("OMP_WAIT_POLICY", "passive", 1);
  CHECK(spin_time(2, 2) == nanoseconds(0));
  setenv("OMP_WAIT_POLICY", "ACTIVE", 1);
  CHECK(spin_time(2, 2) == std::chrono::seconds(1));
  CHECK(spin_time(3, 2) == std::chrono::seconds(1));
}

TEST_CASE("wait: OpenMP is asked unless the user has said something") {
  for (const char* name : kNames) {
    const Silence silence;
    setenv(name, "active", 1);
    CHECK_FALSE(ask_openmp_to_sleep());
    for (const char* other : kNames) CHECK((std::getenv(other) != nullptr) == (other == name));
  }
  const Silence silence;
  CHECK(ask_openmp_to_sleep());
  CHECK_FALSE(ask_openmp_to_sleep());
  // A round takes between some tenths and some hundreds of a nanosecond.
  const int rounds = std::atoi(std::getenv("GOMP_SPINCOUNT"));
  CHECK(rounds >= 10);
  CHECK(rounds <= 500000);
}

}  // namespace meshwork
