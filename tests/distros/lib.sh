# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# What the scripts that install packages have in common. Sourced. Speaks TAP.

tmp=$(mktemp -d)
n=0 bad=0
check() { # NAME COMMAND...
  local name=$1
  shift
  n=$((n + 1))
  if "$@" >"$tmp/out" 2>&1; then echo "ok $n - $name"; else
    echo "not ok $n - $name"
    tail -n 20 "$tmp/out" | sed 's/^/#   /'
    bad=1
  fi
}

# What a system has that packages change. Logs and caches of apt, dpkg and man belong to these.
picture() {
  find /etc /usr /var /opt /lib -xdev \( -path /var/log -o -path /var/cache -o -path /var/lib/apt -o -path /var/lib/dpkg \
    -o -path /var/lib/systemd -o -path /var/tmp \) -prune -o \( -type f -o -type l \) ! -name '*.pyc' ! -name '*-' -print |
    LC_ALL=C sort
  cat /etc/passwd /etc/group
}
as_before() {
  picture >"$tmp/after"
  diff "$tmp/before" "$tmp/after"
}

# The same package with a higher version, as FILE.
make_newer() { # DEB FILE
  dpkg-deb -R "$1" "$tmp/newer" && sed -i 's/^Version: .*/&+test/' "$tmp/newer/DEBIAN/control" &&
    dpkg-deb -b "$tmp/newer" "$2" && rm -r "$tmp/newer"
}

# Names of the packages that those of DIR need, without alternatives and versions.
needs_of() { # DIR
  local deb
  for deb in "$1"/sonda_*.deb "$1"/libsonda0_*.deb "$1"/libsonda-service0_*.deb; do dpkg-deb -f "$deb" Depends; done | tr ',' '\n' |
    sed 's/|.*//; s/(.*//; s/ //g' | grep -v '^libsonda' | sort -u
}
