#!/usr/bin/env bash
# Runs scripts/test.sh of the last commit on a bare system of another release of Debian, whose
# compiler, Open MPI and libraries are newer or older.
#
#   scripts/test_release.sh RELEASE FOLDER [ARGUMENT ...]    for example trixie /var/tmp/trixie
#
# FOLDER: where the system is, or is made (2 GB); a second run builds only what has changed.
# ARGUMENT: of test.sh. Needs root, and Debian's package debootstrap.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ $# -lt 2 ]; then
  sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2
  exit 2
fi
release=$1
mkdir -p "$2"
system=$(realpath "$2")
shift 2

if [ ! -e "$system/root/is_made" ]; then
  debootstrap --variant=minbase "$release" "$system"
  touch "$system/root/is_made"
fi
# Of what git leaves as it was, nothing is built again.
copy=$system/root/meshwork
[ -d "$copy" ] || git clone --quiet . "$copy"
git -C "$copy" fetch --quiet "$PWD" HEAD
git -C "$copy" reset --quiet --hard FETCH_HEAD
cp --dereference /etc/resolv.conf "$system/etc/resolv.conf"

# The mounts are seen in here only, and end with it. The system is the root of its mount namespace,
# and not of a chroot: the test on two machines makes further ones.
unshare --mount --pid --fork --kill-child bash -euo pipefail -s "$system" "$@" <<'INSIDE'
system=$1
shift
mount --rbind "$system" "$system"
cd "$system"
mkdir -p mnt/outside
pivot_root . mnt/outside
mount -t proc proc /proc
for folder in sys dev; do mount --rbind /mnt/outside/$folder /$folder; done
umount --lazy /mnt/outside
cd /root/meshwork
exec env -i HOME=/root LC_ALL=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin scripts/test.sh "$@" </dev/null
INSIDE
