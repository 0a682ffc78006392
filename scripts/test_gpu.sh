#!/usr/bin/env bash
# Builds Meshwork and tries on a GPU of NVIDIA what only a GPU shows: whole programs against the CPU, a product that is tuned,
# collectives of devices that share the GPU, of threads and of ranks (where mpirun is), NCCL (where two GPUs are, too), every kernel
# against the naive one, compute-sanitizer over the kernels where it is installed. Ends with the line "N passed, M failed";
# without a GPU it says why, and skips all.
#
#   scripts/test_gpu.sh [--build DIR] [--no-build] [--quick] [--need-gpu] [--jobs N] [--seconds N]
#
#   --build     the directory of the build, build-test by default
#   --no-build  what is there is not built anew
#   --quick     without compute-sanitizer
#   --need-gpu  no GPU, or no cuDNN, is a failure
#   --jobs      test cases that run at a time, each in a process of its own; by default half the cores, at most 8
#   --seconds   what a test case may take, 300 by default: cuDNN compiles hundreds of plans in some
set -euo pipefail
cd "$(dirname "$0")/.."

build=build-test
builds=yes
needs_gpu=
jobs=$(($(nproc) / 2))
jobs=$((jobs < 1 ? 1 : jobs > 8 ? 8 : jobs))
seconds=300
sanitizer=$(command -v compute-sanitizer || true)
mpirun=$(command -v mpirun || true)
while [ $# -gt 0 ]; do
  case "$1" in
    --build) build=$2; shift ;;
    --no-build) builds= ;;
    --quick) sanitizer= ;;
    --need-gpu) needs_gpu=yes ;;
    --jobs) jobs=$2; shift ;;
    --seconds) seconds=$2; shift ;;
    *) sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
  esac
  shift
done
if [ -n "$builds" ]; then
  [ -f "$build/build.ninja" ] || meson setup "$build" --buildtype=release -Dcuda=enabled
  ninja -C "$build" src/meshwork tests/cuda/cuda_test ${mpirun:+tests/mpi/cuda_mpi_test}
fi

# What `devices` says of the machine.
devices() {
  "$build/src/meshwork" devices --json | python3 -c "import json, sys; d = json.load(sys.stdin); print($1)"
}

missing=$(devices 'd["no_gpus"] or ""')
if [ -n "$missing" ]; then
  echo "no GPU: $missing"
  if [ -n "$needs_gpu" ]; then
    echo "0 passed, 1 failed"
    exit 1
  fi
  echo "0 passed, 0 failed, 1 skipped"
  exit 0
fi
"$build/src/meshwork" devices

passed=0
failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

check() {
  if timeout --foreground 300 "$@" >"$work/log" 2>&1; then
    passed=$((passed + 1))
  else
    echo "failed: $*"
    cat "$work/log"
    failed=$((failed + 1))
  fi
}

# One test case by its number, in a process of its own: a GPU that has failed has failed for the whole process.
one_case() {
  local number=$1 status=0 begin=$SECONDS name
  shift
  timeout --foreground "$seconds" "$@" --first="$number" --last="$number" --duration=true >"$work/$number.log" 2>&1 || status=$?
  echo "$status" >"$work/$number.status"
  name=$(sed -n 's/^[0-9.]* s: //p' "$work/$number.log" | head -1)
  [ -n "$name" ] || name="test case $number"
  [ "$status" = 0 ] && echo "passed after $((SECONDS - begin)) s: $name" && return
  echo "failed after $((SECONDS - begin)) s: $name, exit code $status"
  cat "$work/$number.log"
}
export -f one_case
export work seconds

# Numbers of the test cases of a program of doctest: those that take minutes first.
numbers() {
  local long='^[0-9]+ (kernels of [a-z]+( ops)?|every case of .*|more passes .*)$'
  "$@" --list-test-cases | sed '/^\[doctest\]/d; /^=*$/d' | sed = | sed 'N; s/\n/ /' >"$work/all"
  { grep -E "$long" "$work/all" || true; grep -vE "$long" "$work/all" || true; } | cut -d ' ' -f 1
}

# cases PROGRAM...: all test cases of a program of doctest, some at a time.
cases() {
  local all number
  all=$(numbers "$@")
  if [ -z "$all" ]; then
    echo "failed: $1 lists no test cases"
    failed=$((failed + 1))
    return
  fi
  # In a group of their own: whoever stops the script stops them.
  set -m
  printf '%s\n' $all | xargs -P "$jobs" -I{} bash -c 'one_case "$@"' - {} "$@" &
  group=$!
  set +m
  trap 'kill -- -$(ps -o pgid= "$group" | tr -d " "); exit 1' INT TERM HUP
  wait "$group" || true
  trap - INT TERM HUP
  for number in $all; do
    if [ "$(cat "$work/$number.status")" = 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
  done
  echo "cases that cuDNN does not take: $(cat "$work"/*.log | grep -c 'cuDNN does not take it' || true)"
  rm -f "$work"/*.log "$work"/*.status
}

if [ -n "$needs_gpu" ] && [ "$(devices 'd["gpu_convolutions"].startswith("cuDNN 9")')" = False ]; then
  echo "failed: there is no cuDNN 9"
  failed=$((failed + 1))
fi

for mesh in 1x1 2x1 2x4; do
  check "$build/src/meshwork" fit configs/keras_guide.yaml --device cuda --mesh $mesh \
    run_directory="$work/guide$mesh" fit.epochs=1 --new --verbose 0
done
# Of a product that is tuned, too, the bits are the same each time.
tuned="env MESHWORK_CUDA_CACHE=$work/tuned $build/src/meshwork"
check $tuned tune configs/keras_guide.yaml --device cuda --mesh 1x1
cat "$work/log"
for run in first second; do
  check $tuned fit configs/keras_guide.yaml --device cuda --mesh 1x1 run_directory="$work/tuned_$run" fit.epochs=1 \
    --new --verbose 0
done
check cmp "$work/tuned_first/final.safetensors" "$work/tuned_second/final.safetensors"
if [ -n "$mpirun" ]; then
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  check "$mpirun" --oversubscribe -n 2 "$build/tests/mpi/cuda_mpi_test" -nc
  check "$mpirun" --oversubscribe -n 2 "$build/src/meshwork" fit configs/keras_guide.yaml --device cuda \
    --mesh 2x1 run_directory="$work/ranks" fit.epochs=1 --new --verbose 0
  check cmp "$work/guide2x1/final.safetensors" "$work/ranks/final.safetensors"
else
  echo "ranks are not tried: there is no mpirun"
fi
if [ -n "$mpirun" ] && [ "$(devices 'len(d["gpus"]) if d["nccl"].startswith("NCCL") else 0')" -ge 2 ]; then
  for run in first second; do
    check "$mpirun" --oversubscribe -n 2 "$build/src/meshwork" fit configs/keras_guide.yaml --device cuda --mesh 2x1 \
      collectives=nccl run_directory="$work/nccl_$run" fit.epochs=1 --new --verbose 0
  done
  check cmp "$work/nccl_first/final.safetensors" "$work/nccl_second/final.safetensors"
else
  echo "NCCL is not tried: it takes two GPUs, mpirun and libnccl.so.2"
fi
cases "$build/tests/cuda/cuda_test"
if [ -n "$sanitizer" ]; then
  for tool in memcheck racecheck synccheck; do
    check "$sanitizer" --tool "$tool" --error-exitcode 1 "$build/tests/cuda/cuda_test" -tc="kernels of*"
  done
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
