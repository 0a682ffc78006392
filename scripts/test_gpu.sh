#!/usr/bin/env bash
# Builds Meshwork and tries on a GPU of NVIDIA what only a GPU shows: every kernel against the naive
# one, whole programs against the CPU, collectives of devices that share the GPU, of threads and of
# ranks (where mpirun is), NCCL (where two GPUs are), compute-sanitizer over the kernels where it is installed. Ends with the line "N passed, M failed"; without a GPU it
# says why, and skips all.
#
#   scripts/test_gpu.sh [--build DIR] [--no-build] [--quick]
#
#   --build     the directory of the build, build-test by default
#   --no-build  what is there is not built anew
#   --quick     without compute-sanitizer
set -euo pipefail
cd "$(dirname "$0")/.."

build=build-test
builds=yes
sanitizer=$(command -v compute-sanitizer || true)
mpirun=$(command -v mpirun || true)
while [ $# -gt 0 ]; do
  case "$1" in
    --build) build=$2; shift ;;
    --no-build) builds= ;;
    --quick) sanitizer= ;;
    *) sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
  esac
  shift
done
if [ -n "$builds" ]; then
  [ -f "$build/build.ninja" ] || meson setup "$build" --buildtype=release -Dcuda=enabled
  ninja -C "$build" src/meshwork tests/cuda/cuda_test ${mpirun:+tests/mpi/cuda_mpi_test}
fi

missing=$("$build/src/meshwork" devices --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["no_gpus"] or "")')
if [ -n "$missing" ]; then
  echo "no GPU: $missing"
  echo "0 passed, 0 failed, 1 skipped"
  exit 0
fi
"$build/src/meshwork" devices

passed=0
failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Adds up what a program of doctest says; a crash counts as a failure.
cases() {
  local log=$work/log status=0
  timeout 500 "$@" >"$log" 2>&1 || status=$?
  read -r good bad < <(sed -n 's/.*test cases: *[0-9]* | *\([0-9]*\) passed | *\([0-9]*\) failed.*/\1 \2/p' "$log") ||
    { good=0; bad=0; }
  [ "$status" -eq 0 ] || { cat "$log"; [ "$bad" -gt 0 ] || bad=1; }
  passed=$((passed + good))
  failed=$((failed + bad))
}

check() {
  if timeout 300 "$@" >"$work/log" 2>&1; then
    passed=$((passed + 1))
  else
    echo "failed: $*"
    cat "$work/log"
    failed=$((failed + 1))
  fi
}

cases "$build/tests/cuda/cuda_test"
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
  cases "$mpirun" --oversubscribe -n 2 "$build/tests/mpi/cuda_mpi_test" -nc
  check "$mpirun" --oversubscribe -n 2 "$build/src/meshwork" fit configs/keras_guide.yaml --device cuda \
    --mesh 2x1 run_directory="$work/ranks" fit.epochs=1 --new --verbose 0
  check cmp "$work/guide2x1/final.safetensors" "$work/ranks/final.safetensors"
fi
gpus=$("$build/src/meshwork" devices --json | python3 -c 'import json, sys; d = json.load(sys.stdin); print(len(d["gpus"]) if d["nccl"].startswith("NCCL") else 0)')
if [ "$gpus" -ge 2 ]; then
  nccl="--device cuda --mesh 2x1 collectives=nccl fit.epochs=1 --new --verbose 0"
  for run in first second; do
    check "$build/src/meshwork" fit configs/keras_guide.yaml $nccl run_directory="$work/nccl_$run"
  done
  check cmp "$work/nccl_first/final.safetensors" "$work/nccl_second/final.safetensors"
  if [ -n "$mpirun" ]; then
    check "$mpirun" --oversubscribe -n 2 "$build/src/meshwork" fit configs/keras_guide.yaml $nccl run_directory="$work/nccl_ranks"
  fi
else
  echo "NCCL is not tried: it takes two GPUs, and libnccl.so.2"
fi
if [ -n "$sanitizer" ]; then
  for tool in memcheck racecheck synccheck; do
    check "$sanitizer" --tool "$tool" --error-exitcode 1 "$build/tests/cuda/cuda_test" -tc="kernels of*"
  done
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
