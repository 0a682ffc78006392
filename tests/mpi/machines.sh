#!/usr/bin/env bash
# Jobs on two machines, which are network namespaces of this one: they have a cable between them and
# files in common, but no memory, and each a folder of its own. Ends with 77 where the system lets
# nobody make them.
#
#   tests/mpi/machines.sh PROGRAM
set -euo pipefail
program=$(realpath "$1")
cd "$(dirname "$0")/../.."

skip() {
  echo "skipped: $1"
  exit 77
}

if [ -z "${MESHWORK_TEST_INSIDE:-}" ]; then
  for tool in ip unshare nsenter mpirun; do
    [ -n "$(command -v $tool)" ] || skip "there is no $tool (packages iproute2, util-linux)"
  done
  # What runs inside ends with the first process there.
  inside=(unshare --net --mount --pid --fork --mount-proc --kill-child)
  [ "$(id -u)" = 0 ] || inside+=(--user --map-root-user)
  "${inside[@]}" ip link add cable1 type veth peer name cable2 || skip "no network namespaces"
  MESHWORK_TEST_INSIDE=1 exec "${inside[@]}" "$0" "$program"
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/own" "$work/bin"

# on MACHINE COMMAND...: there, in this directory
cat > "$work/bin/on" << END
#!/usr/bin/env bash
machine=\$1
shift
exec nsenter --target "\$(cat '$work'/\$machine)" --net --uts --mount --ipc \
  bash -c 'cd "$PWD" && exec "\$@"' - "\$@"
END
# What mpirun and elastic.sh reach another machine by.
cat > "$work/bin/ssh" << 'END'
#!/usr/bin/env bash
while [ "${1#-}" != "$1" ]; do
  [ "$1" != -o ] || shift
  shift
done
machine=$1
shift
[ "$machine" = "$(hostname)" ] || ip -o link show cable | grep -q 'state UP' || exit 255
exec on "$machine" bash -c "$*"
END
chmod +x "$work"/bin/*
export PATH=$work/bin:$PATH OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# Seconds in which mpirun finds out that a machine is gone: of Open MPI 4, and of 5.
export {OMPI,PRTE}_MCA_oob_tcp_keepalive_{time=1,intvl=1,probes=2}
# Open MPI 5 refuses to bind more ranks than there are cores.
export PRTE_MCA_hwloc_default_binding_policy=none

echo 'flags : sse2 avx2' > "$work/cpuinfo"
printf '127.0.0.1 localhost\n10.77.0.1 m1\n10.77.0.2 m2\n' > "$work/hosts"
ip link add cable1 type veth peer name cable2
for number in 1 2; do
  unshare --net --uts --mount --ipc sleep 1000 &
  echo $! > "$work/m$number"
  cat /proc/sys/kernel/random/uuid > "$work/boot$number"
  until [ "$(readlink /proc/$!/ns/ipc)" != "$(readlink /proc/self/ns/ipc)" ]; do sleep 0.02; done
  ip link set cable$number netns $! name cable
  on m$number bash -c "hostname m$number
    mount --bind '$work/hosts' /etc/hosts
    mount --bind '$work/boot$number' /proc/sys/kernel/random/boot_id
    mount -t tmpfs tmpfs /dev/shm
    mount -t tmpfs tmpfs '$work/own'
    ip link set lo up
    ip addr add 10.77.0.$number/24 dev cable
    ip link set cable up"
done

failed=0
# expect NAME CODE PATTERN COMMAND...: it ends with that code within a minute, and says this
expect() {
  local name=$1 code=$2 pattern=$3 status=0
  shift 3
  timeout -k 5 60 "$@" > "$work/log" 2>&1 || status=$?
  if [ "$status" -ne "$code" ] || ! grep -q "$pattern" "$work/log"; then
    echo "failed: $name: exit code $status, and not $code with '$pattern':"
    cat "$work/log"
    failed=$((failed + 1))
  fi
}

# when FILE COMMAND...: once there is such a file
when() {
  local file=$1
  shift
  until compgen -G "$file" > /dev/null; do sleep 0.1; done
  "$@"
}

fit=("$program" fit configs/uneven.yaml --new)
job=(on m1 mpirun --host m1:3,m2:3 -n 6 "${fit[@]}")

digest=$("${fit[@]}" run_directory="$work/threads" | sed -n 's/.* digest=//p')
expect "the bits of one process" 0 "digest=$digest" "${job[@]}" run_directory="$work/ranks"
expect "the bits of ranks in turn" 0 "digest=$digest" \
  on m1 mpirun --host m1:3,m2:3 --map-by node -n 6 "${fit[@]}" run_directory="$work/turns"

expect "a run directory of each machine" 3 \
  "what rank 0 writes there is not to be seen on m2, by rank 3; " "${job[@]}" run_directory="$work/own/run"

on m2 mount --bind "$work/cpuinfo" /proc/cpuinfo
expect "machines of two kinds" 0 \
  "warning: ranks 3, 4, 5 have another processor than rank 0: 'avx2' there, " "${job[@]}" run_directory="$work/kinds"
on m2 umount /proc/cpuinfo

long=(fit.epochs=100000 --verbose 0)
when "$work/lost/checkpoints/*/index.json" pkill -KILL -n -f "$program fit.*$work/lost" &
expect "a lost rank" 137 "on node m. exited on signal 9\|^signal 9 (Killed)" "${job[@]}" "${long[@]}" run_directory="$work/lost"

when "$work/still/checkpoints/*/index.json" pkill -STOP -n -f "$program fit.*$work/still" &
expect "a rank that stands still" 4 "nothing got on for 4 s (stall_timeout): .* says nothing: stopped, or gone" \
  "${job[@]}" "${long[@]}" run_directory="$work/still" stall_timeout=4s

when "$work/gone/checkpoints/*/index.json" on m2 ip link set cable down &
expect "a machine that is gone" 0 "a rank was lost (exit code 205); going on from the last checkpoint" \
  on m1 scripts/elastic.sh -n 6 --step 2 --hosts m1:4,m2:2 "$program" fit configs/uneven.yaml \
  --mesh data=-1,model=2 run_directory="$work/gone" fit.epochs=300 --verbose 0

[ "$failed" -eq 0 ] || exit 1
echo "all is well on two machines"
