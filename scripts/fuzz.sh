#!/usr/bin/env bash
# Feeds parsers with whatever libFuzzer makes of their corpus in tests/fuzz/corpus, under the address
# and undefined behaviour sanitizers. Needs clang; builds in build-fuzz.
#
#   scripts/fuzz.sh [SECONDS] [TARGET ...]    a minute each by default; all targets
#
# What is found is kept in build-fuzz/findings. Put it into the corpus of its target, mend what it
# shows, and tests/fuzz/corpus_test.cpp holds it from then on.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:-60}
shift || true
targets=("$@")

build=build-fuzz
export CC=${CC:-clang} CXX=${CXX:-clang++}
[ -f $build/build.ninja ] || meson setup $build --buildtype=plain -Doptimization=1 -Dfuzz=true \
  -Db_sanitize=address,undefined -Db_lundef=false -Db_pch=false \
  "-Dc_args=-g1" "-Dcpp_args=-g1 -fsanitize=fuzzer-no-link" "-Dcpp_link_args=-fsanitize=fuzzer-no-link"
program=tests/fuzz_targets
ninja -C $build $program
[ ${#targets[@]} -gt 0 ] || mapfile -t targets < <($build/$program)

# HDF5 keeps some of what it has read of a damaged file, and asks for as much memory as that says:
# it gets none.
export LSAN_OPTIONS=suppressions=$PWD/scripts/sanitizers/lsan.supp:print_suppressions=0
export ASAN_OPTIONS=allocator_may_return_null=1
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
mkdir -p $build/findings
failed=0
for target in "${targets[@]}"; do
  mkdir -p "$build/corpus/$target"
  most=2048
  if [ "$target" = weights ] || [ "$target" = hdf5 ]; then most=$((1 << 30)); fi
  FUZZ_TARGET=$target $build/$program -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
    -max_len=16384 -malloc_limit_mb=$most \
    -artifact_prefix="$build/findings/$target-" -print_final_stats=1 \
    "$build/corpus/$target" "tests/fuzz/corpus/$target" || failed=$((failed + 1))
done
echo "${#targets[@]} targets, $failed with findings"
[ $failed -eq 0 ]
