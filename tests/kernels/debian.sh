# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Debian's packages of other suites, from the mirror that this machine uses already, unpacked into a directory. Sourced.

give_up() { # REASON
  echo "kernels: $*" >&2
  exit 77
}

suite_of() { # KERNEL (fetch.sh)
  case $1 in
  5.10) echo bullseye ;;
  6.1) echo bookworm ;;
  6.12) echo trixie ;;
  newest) echo sid ;;
  *) return 1 ;;
  esac
}

# The address of the mirror that this machine uses, empty if there is none.
debian_mirror() {
  # awk gives up at a file that is not there, and many machines have no sources.list.
  cat /etc/apt/sources.list /etc/apt/sources.list.d/*.sources /etc/apt/sources.list.d/*.list 2>/dev/null |
    awk '$1 == "URIs:" { print $2; exit }
      $1 == "deb" { for (i = 2; i <= NF; i++) if ($i ~ /:\/\//) { print $i; exit } }' || true
}

# The suite's package lists, in DIR/apt; DIR/log says what went wrong.
packages_open() { # DIR SUITE
  local mirror
  mirror=$(debian_mirror)
  [ -n "$mirror" ] || give_up "no Debian mirror in /etc/apt"
  packages=$1
  rm -rf "${packages:?}/apt"
  mkdir -p "$packages/apt/lists/partial" "$packages/apt/debs"
  echo "deb $mirror $2 main" >"$packages/apt/sources"
  apt=(-o "Dir::State::Lists=$packages/apt/lists" -o "Dir::Etc::SourceList=$packages/apt/sources"
    -o Dir::Etc::SourceParts=/dev/null -o "Dir::Cache=$packages/apt/cache" -o Acquire::Languages=none -o APT::Sandbox::User=root)
  apt-get "${apt[@]}" update >"$packages/log" 2>&1 || give_up "no package lists of $2 (see $packages/log)"
}
package_field() { # PACKAGE FIELD
  apt-cache "${apt[@]}" show --no-all-versions "$1" 2>/dev/null | sed -n "s/^$2: //p"
}
package_needs() { # PACKAGE REGEX: the names that it depends on and that match
  package_field "$1" Depends | tr ',' '\n' | awk -v regex="^($2)" '$1 ~ regex { print $1 }'
}
packages_fetch() { # PACKAGE...: into DIR/apt/debs
  (cd "$packages/apt/debs" && apt-get "${apt[@]}" download "$@") >>"$packages/log" 2>&1 ||
    give_up "$1 cannot be fetched (see $packages/log)"
}
