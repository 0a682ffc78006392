#!/usr/bin/env bash
# Runs a job under mpirun, and starts it again from its last checkpoint when it loses a rank, on the
# devices that are left, until it is done.
#
#   scripts/elastic.sh -n RANKS [--least N] [--step N] [--tries N] [--hosts HOST:SLOTS,...] COMMAND ...
#
#   -n       devices at the start
#   --least  devices with which it goes on at all: 1 by default
#   --step   by how many devices the job shrinks: the product of the fixed axes of the mesh, 1 by
#            default. The configuration names the axis that adapts: mesh: {data: -1, model: 2} goes
#            with --step 2
#   --tries  starts in a row that may get no further before it gives up: 3 by default
#   --hosts  hosts and how many ranks each takes. Before each start those are left out that ssh does
#            not reach. Without, all is on this machine, and a lost rank is a device less
#   COMMAND  meshwork fit CONFIG ...; it gets 'resume=auto'
#
# A configuration or a file that is wrong (exit codes 2 and 3), a loss that is no number (1) and a
# signal to this script end it: another start would change nothing. Its exit code is that of the last
# start, and 75 where a signal comes before the first.
#
#   scripts/elastic.sh -n 8 --step 2 build/src/meshwork fit configs/keras_guide.yaml --mesh data=-1,model=2
set -uo pipefail

usage() {
  sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2
  exit 2
}

ranks= least=1 step=1 tries=3 hosts=
while [ $# -gt 0 ]; do
  case "$1" in
    -n) ranks=${2:-} && shift ;;
    --least) least=${2:-} && shift ;;
    --step) step=${2:-} && shift ;;
    --tries) tries=${2:-} && shift ;;
    --hosts) hosts=${2:-} && shift ;;
    --help | -h | -*) usage ;;
    *) break ;;
  esac
  shift || usage
done
for number in "$ranks" "$least" "$step" "$tries"; do
  [[ $number =~ ^[1-9][0-9]*$ ]] || usage
done
[ $# -gt 0 ] || usage
# mpirun asks root for these two.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# In these seconds mpirun sees that a host is gone; by default it takes many minutes.
for family in OMPI PRTE; do  # Open MPI 4 and 5
  for limit in time=10 intvl=5 probes=3; do
    name=${family}_MCA_oob_tcp_keepalive_${limit%=*}
    export "$name=${!name:-${limit#*=}}"
  done
done

# The hosts that answer, as mpirun's --host takes them; $slots: how many ranks these take.
reachable() {
  slots=0 reached=
  local host
  for host in ${hosts//,/ }; do
    [ -z "$stopped" ] || return
    ssh -o BatchMode=yes -o ConnectTimeout=10 "${host%%:*}" true < /dev/null 2> /dev/null || continue
    reached+=${reached:+,}$host
    [ "$host" = "${host#*:}" ] && slots=$((slots + 1)) || slots=$((slots + ${host#*:}))
  done
}

# Whether meshwork has told of more than warnings and notes.
tells_error() {
  awk '/^meshwork: / && !/^meshwork: (warning|note): / { found = 1 } END { exit !found }' "$told"
}

stopped=
trap 'stopped=1; [ -n "${job:-}" ] && kill -USR1 "$job"' TERM INT HUP USR1

told=$(mktemp)
trap 'rm -f "$told"' EXIT
failed=0
code=75  # of a job that a signal ends before its first start
while :; do
  where=(--oversubscribe)
  if [ -n "$hosts" ]; then
    reachable
    [ -z "$stopped" ] || exit $code
    [ "$slots" -ge "$ranks" ] || ranks=$slots
    where=(--host "$reached")
  fi
  ranks=$((ranks / step * step))
  if [ "$ranks" -lt "$least" ] || [ "$ranks" -lt 1 ]; then
    echo "elastic.sh: $ranks devices are left, fewer than the $least it takes" >&2
    exit 4
  fi
  began=$SECONDS
  : > "$told"
  exec {errors}> >(tee -a "$told" >&2)
  teller=$!
  mpirun "${where[@]}" -n "$ranks" "$@" resume=auto 2>&"$errors" &
  job=$!
  [ -z "$stopped" ] || kill -USR1 "$job"
  exec {errors}>&-
  wait "$job"
  code=$?
  # A signal interrupts the first wait.
  while kill -0 "$job" 2> /dev/null; do
    wait "$job"
    code=$?
  done
  job=
  # The last lines may be on their way; ssh to a lost host holds the pipe open for longer.
  for _ in {1..20}; do
    kill -0 "$teller" 2> /dev/null || break
    sleep 0.1
  done
  # That of Open MPI 5 ends with 0 when it loses a host.
  [ $code -eq 0 ] && grep -q 'has lost communication with a remote daemon' "$told" && code=205
  case $code in 0 | 2 | 3 | 75) exit $code ;; esac
  # mpirun itself ends with 1, too, when it loses a host.
  [ $code -eq 1 ] && tells_error && exit 1
  [ -z "$stopped" ] || exit $code
  [ $((SECONDS - began)) -ge 60 ] && failed=0
  failed=$((failed + 1))
  if [ "$failed" -ge "$tries" ]; then
    echo "elastic.sh: $failed starts in a row were lost within a minute, the last with exit code $code" >&2
    exit $code
  fi
  [ -n "$hosts" ] || ranks=$((ranks - step))
  echo "elastic.sh: a rank was lost (exit code $code); going on from the last checkpoint" >&2
done
