#!/usr/bin/env bash
# Builds everything, runs all checks and tests, and ends with the line "N passed, M failed".
#
#   scripts/test.sh [--sanitize=address|undefined|address,undefined|thread] [--compiler=gcc|clang] [TEST ...]
#
# TEST: names of Meson tests, as `meson test -C build-test --list` shows them; all by default.
# Each kind of build has its own directory: build-test, build-test-clang, build-test-address, ...
set -euo pipefail
cd "$(dirname "$0")/.."

usage() {
  sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2
  exit 2
}

sanitize=none
compiler=gcc
tests=()
for argument in "$@"; do
  case "$argument" in
    --sanitize=address | --sanitize=undefined | --sanitize=address,undefined | --sanitize=thread)
      sanitize=${argument#*=}
      ;;
    --compiler=gcc | --compiler=clang) compiler=${argument#*=} ;;
    -*) usage ;;
    *) tests+=("$argument") ;;
  esac
done

passed=0
failed=0
finish() {
  [ $? -eq 0 ] || [ -n "${counted:-}" ] || echo "$passed passed, $((failed + 1)) failed"
}
trap finish EXIT

# Runs one check; a failure is counted and does not stop the others.
check() {
  if "$@"; then
    passed=$((passed + 1))
  else
    echo "failed: $*"
    failed=$((failed + 1))
  fi
}

check_format() {
  find src tests -name '*.h' -o -name '*.cpp' | sort | xargs clang-format --dry-run -Werror 2>&1 |
    sed -n 's/: error: .*/: not as clang-format writes it/p'
}

# A test that no meson.build names would never run.
check_tests_are_built() {
  local test missing=0
  while read -r test; do
    grep -rqF --include=meson.build "$(basename "$test")" tests && continue
    echo "$test: no meson.build names it"
    missing=1
  done < <(find tests -name '*_test.cpp')
  return $missing
}

build=build-test
# Here a warning is an error; a user's compiler may be newer, and warn of more.
options=(--buildtype=release --werror)
# pgrep and pkill, by which tests find ranks, and ip, which makes two machines of one; small images
# lack them.
packages=(procps iproute2)
if [ "$compiler" = clang ]; then
  build+=-clang
  packages+=(clang libomp-dev)
fi
if [ "$sanitize" != none ]; then
  build+=-${sanitize/,/-}
  # Compiled in half the time of -O2 -g, with the same places in the reports. Clang leaves the
  # sanitizer's functions to be found when the program starts.
  # g++ takes values for uninitialized that the sanitizer's code hides from it.
  options=(--buildtype=plain --werror -Doptimization=1 -Dc_args=-g1
    "-Dcpp_args=-g1 -Wno-maybe-uninitialized" "-Db_sanitize=$sanitize" -Db_lundef=false -Db_pch=false)
  # Of 240 random models, which take minutes here.
  export MESHWORK_TEST_MODELS=60
  # For a test case of eight ranks on two cores, instead of 250.
  export MESHWORK_TEST_SECONDS=500
fi
# Open MPI writes over the beginnings of mmap and its kin, which the thread sanitizer intercepts.
[ "$sanitize" != thread ] || export OMPI_MCA_memory=^patcher

scripts/setup.sh "${packages[@]}"
check scripts/check_layers.py
check scripts/check_size.py
check check_tests_are_built
# Other versions of clang-format see some lines otherwise.
if clang-format --version 2>/dev/null | grep -q 'version 14\.'; then
  check check_format
else
  echo "format: not checked, for there is no clang-format 14"
fi

if [ "$compiler" = clang ]; then
  export CC=clang CXX=clang++
else
  export CC=gcc CXX=g++
fi
[ -f $build/build.ninja ] || meson setup $build "${options[@]}"
ninja -C $build

suppressions=$PWD/scripts/sanitizers
# A library that asks for more memory than there is gets none, as without a sanitizer.
export ASAN_OPTIONS=halt_on_error=1:detect_stack_use_after_return=1:strict_string_checks=1:allocator_may_return_null=1
export LSAN_OPTIONS=suppressions=$suppressions/lsan.supp:print_suppressions=0
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1:allocator_may_return_null=1:atexit_sleep_ms=0:suppressions=$suppressions/tsan.supp

log=$build/meson-logs/testlog.json
rm -f $log
# The limits are there to end what hangs. A host may give a virtual machine a fraction of its
# cores for minutes, and sanitizers slow the tests down.
scale=3
[ "$sanitize" = none ] || scale=5
# One more test at a time than there are cores: those of ranks wait for most of their time.
meson test -C $build --num-processes $(($(nproc) + 1)) --no-rebuild --print-errorlogs --timeout-multiplier $scale "${tests[@]}" || true
counted=yes
scripts/count_tests.py $log $passed $failed
