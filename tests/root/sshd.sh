#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Prints a command that runs sshd: the machine's own, or that of Debian's package, unpacked outside the repository
# (PEER_DIR), because an installed one would listen on the machine. Exits with 77 and a reason if there is none.
set -eu
dir=${PEER_DIR:-${TMPDIR:-/tmp}/peers}/sshd

give_up() {
  echo "sshd: $*" >&2
  exit 77
}

for installed in /usr/sbin/sshd /usr/bin/sshd; do
  [ ! -x $installed ] || { echo $installed; exit; }
done
mkdir -p "$dir"
exec 9>"$dir/lock"
flock 9
if [ ! -x "$dir/run" ]; then
  command -v apt-get >/dev/null || give_up "sshd is not installed, and there is no apt-get to fetch it"
  rm -rf "$dir/debs" "$dir/root"
  mkdir -p "$dir/debs" "$dir/lists/partial"
  cd "$dir/debs"
  apt-get download openssh-server libwrap0 >"$dir/log" 2>&1 || {
    apt-get -o "Dir::State::Lists=$dir/lists" update >>"$dir/log" 2>&1 &&
      apt-get -o "Dir::State::Lists=$dir/lists" download openssh-server libwrap0 >>"$dir/log" 2>&1
  } || give_up "no package openssh-server (see $dir/log)"
  for deb in *.deb; do dpkg -x "$deb" "$dir/root"; done
  libraries=$(find "$dir/root" -name 'libwrap.so.0' -printf '%h\n')
  ! LD_LIBRARY_PATH=$libraries ldd "$dir/root/usr/sbin/sshd" | grep 'not found' >>"$dir/log" ||
    give_up "libraries of sshd are missing (see $dir/log)"
  # Later versions consist of several programs.
  options=
  for part in session auth; do
    [ ! -x "$dir/root/usr/lib/openssh/sshd-$part" ] ||
      options="$options -o Sshd${part^}Path=$dir/root/usr/lib/openssh/sshd-$part"
  done
  printf '#!/bin/sh\nLD_LIBRARY_PATH=%s exec %s%s "$@"\n' "$libraries" "$dir/root/usr/sbin/sshd" "$options" >"$dir/run.new"
  chmod +x "$dir/run.new"
  mv "$dir/run.new" "$dir/run"
fi
echo "$dir/run"
