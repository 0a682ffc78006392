#!/usr/bin/env bash
# Installs what building, testing and the demonstration need, from the packages of Debian or Ubuntu.
#
#   scripts/setup.sh [PACKAGE ...]    further packages, for example clang
set -euo pipefail

required=(
  doctest-dev
  g++
  libcli11-dev
  libdnnl-dev
  libfmt-dev
  libhdf5-dev
  libisal-dev
  libjpeg-dev
  libopenmpi-dev
  libpcre2-dev
  libpng-dev
  librandom123-dev
  libutf8proc-dev
  libutfcpp-dev
  libxxhash-dev
  libyaml-cpp-dev
  libzip-dev
  meson
  ninja-build
  nlohmann-json3-dev
  openmpi-bin
  pkg-config
  python3
  zlib1g-dev
  "$@"
)
# Data for configs/fashion_mnist.yaml; not in every release.
optional=(dataset-fashion-mnist)

say() { echo "setup: $*"; }

installed() {
  [[ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" == installed* ]] ||
    # Newer releases have it from the package pkgconf.
    { [ "$1" = pkg-config ] && command -v pkg-config >/dev/null; }
}

# Prints those of the packages that are not installed.
missing() {
  local package
  for package in "$@"; do
    installed "$package" || echo "$package"
  done
}

# Whether apt knows a version of the package to install.
available() {
  [ -n "$(apt-cache policy "$1" 2>/dev/null | sed -n 's/^  Candidate: //p' | grep -v '^(none)$')" ]
}

# Prints those of the packages that apt does not know.
unavailable() {
  local package
  for package in "$@"; do
    available "$package" || echo "$package"
  done
}

as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    say "root rights are needed: run as root, or install sudo" >&2
    return 1
  fi
}

updated=no
update_lists() {
  [ "$updated" = no ] || return 0
  say "apt-get update"
  as_root env DEBIAN_FRONTEND=noninteractive apt-get update -qq
  updated=yes
}

apt_install() {
  as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

# Lists that are too old name files that are gone: then once more with new ones.
install_packages() {
  say "installing $*"
  apt_install "$@" || { update_lists && apt_install "$@"; }
}

if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
  say "there is no apt-get here; install what your system has instead of" >&2
  say "  ${required[*]}" >&2
  say "then: meson setup build && ninja -C build" >&2
  exit 1
fi

mapfile -t wanted < <(missing "${required[@]}")
mapfile -t extras < <(missing "${optional[@]}")
if [ ${#wanted[@]} -eq 0 ] && [ ${#extras[@]} -eq 0 ]; then
  say "everything is there"
  exit 0
fi

if [ -n "$(unavailable "${wanted[@]}")" ] || ! ls /var/lib/apt/lists/*_Packages* &>/dev/null; then
  update_lists
fi
mapfile -t unknown < <(unavailable "${wanted[@]}")
if [ ${#unknown[@]} -gt 0 ]; then
  say "apt knows no package ${unknown[*]}; on Ubuntu: add-apt-repository universe" >&2
  exit 1
fi
[ ${#wanted[@]} -eq 0 ] || install_packages "${wanted[@]}"
for package in "${extras[@]}"; do
  if ! available "$package"; then
    say "this system has no package $package; going on without it"
  elif ! install_packages "$package"; then
    say "$package could not be installed; going on without it"
  fi
done
say "done"
