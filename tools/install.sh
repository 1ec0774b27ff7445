#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: tools/install.sh install|uninstall BUILD DESTDIR PREFIX [LIBDIR]
#
# LIBDIR is the directory of libraries below PREFIX; default lib. In the environment: ZSH_FUNCTIONS, the directory of zsh's functions
# below PREFIX, default share/zsh/site-functions; EXAMPLES, that of examples/ and bpf/examples/, default share/doc/sonda.
set -eu

action=$1 B=$2 to=$3$4 prefix=$4 libdir=${5:-lib}
: "${EXAMPLES:=share/doc/sonda}"

# One line a file: mode, source, place below the prefix.
files() {
  for p in sonda sondad sonda-probes sonda-relay; do
    echo "755 $B/bin/$p bin/$p"
  done
  for f in configs/*.cfg; do
    echo "644 $f share/sonda/configs/$(basename "$f")"
  done
  for f in share/sonda/presets/*.cfg; do
    echo "644 $f $f"
  done
  for f in share/sonda/json-schema.json share/sonda/skills/sonda/SKILL.md share/sonda/prometheus/*.yml share/sonda/grafana/*.json \
    share/sonda/queries/*/*.sql; do
    echo "644 $f $f"
  done
  echo "644 bpf/sonda_program.h include/sonda/sonda_program.h"
  for f in include/sonda/*.h; do
    echo "644 $f $f"
  done
  for l in sonda sonda-service; do
    echo "644 $B/lib/lib$l.so.0 $libdir/lib$l.so.0"
    echo "644 $B/lib/lib$l.a $libdir/lib$l.a"
    echo "644 tools/$l.pc $libdir/pkgconfig/$l.pc"
  done
  for f in examples/*.*; do
    echo "644 $f $EXAMPLES/$f"
  done
  for f in bpf/examples/*.bpf.c; do
    echo "644 $f $EXAMPLES/$f"
  done
  for f in README.md LICENSE; do
    echo "644 $f share/doc/sonda/$f"
  done
  for f in docs/*/*.md docs/*/*.txt docs/images/*.png; do
    echo "644 $f share/doc/sonda/$f"
  done
  echo "644 $B/completion/sonda.bash share/bash-completion/completions/sonda"
  echo "644 $B/completion/_sonda ${ZSH_FUNCTIONS:-share/zsh/site-functions}/_sonda"
  echo "644 $B/completion/sonda.fish share/fish/vendor_completions.d/sonda.fish"
  for f in "$B"/man/man*/*; do
    echo "644 $f share${f#"$B"}"
  done
  for f in configs/systemd/*.socket configs/systemd/*.service; do
    echo "644 $f lib/systemd/system/$(basename "$f")"
  done
  echo "644 configs/systemd/sonda.sysusers lib/sysusers.d/sonda.conf"
}

# Units and pkg-config name the place of the programs and of the library, docs that of samples.
install_one() { # MODE SOURCE PLACE
  directory=$(dirname "$to/$3")
  while [ ! -d "$directory" ]; do
    echo "$directory" >>"$made"
    directory=$(dirname "$directory")
  done
  if [ -L "$2" ]; then # a page of the manual with another name
    mkdir -p "$to/${3%/*}" && cp -P "$2" "$to/$3"
    return
  fi
  install -D -m "$1" "$2" "$to/$3"
  case $3 in
  lib/systemd/* | */pkgconfig/*) sed -i "s|@PREFIX@|$prefix|g; s|@LIBDIR@|$libdir|g; s|@VERSION@|$version|g" "$to/$3" ;;
  share/doc/sonda/*.md) sed -i -f "$docs_script" "$to/$3" ;;
  share/man/*) # names of docs, too
    sed -i -f "$docs_script" -f "$pages_script" "$to/$3"
    ;;
  esac
  case $3 in *.so.0) ln -sf "${3##*/}" "$to/${3%.0}" ;; esac
}

version=$(awk '$2 ~ /^SONDA_VERSION_(MAJOR|MINOR|PATCH)$/ { printf "%s%s", sep, $3; sep = "." }' include/sonda/version.h)
docs_script=$(mktemp) pages_script=$(mktemp) made=$(mktemp)
trap 'rm -f "$docs_script" "$pages_script" "$made"' EXIT
sed "s|@PREFIX@|$prefix|g; s|@EXAMPLES@|$prefix/$EXAMPLES|g" tools/installed_docs.sed >"$docs_script"
# "sql.md" and "docs/reference/sql.md" of a man page, where "-" is "\-", become the place of the page.
for page in docs/*/*.md; do
  name=$(basename "$page" .md)
  printf 's#\(^\|[( ]\)\(docs/[a-z]*/\)\{0,1\}%s\.md#\1%s/share/doc/sonda/%s#g\n' \
    "$(echo "$name" | sed 's/-/\\\\-/g')" "$prefix" "$page"
done >"$pages_script"
files | while read -r mode from place; do
  case $action in
  install) install_one "$mode" "$from" "$place" ;;
  uninstall) rm -f "$to/$place" "$to/${place%.so.0}.so" ;;
  esac
done

# Installing adds to the list of directories that it has made, and uninstalling removes those of them that are empty. A package
# (DESTDIR) has no list: its manager removes the directories.
list=$to/share/sonda/made_dirs
if [ "$action" = install ] && [ -z "$3" ]; then
  cat "$made" >>"$list"
elif [ "$action" = uninstall ]; then
  {
    for own in share/sonda/configs share/sonda/presets share/sonda/prometheus share/sonda/grafana share/sonda/queries/duckdb \
      share/sonda/queries/clickhouse share/sonda/queries share/sonda include/sonda share/doc/sonda \
      share/doc/sonda/docs share/doc/sonda/docs/images share/doc/sonda/docs/guides share/doc/sonda/docs/reference share/doc/sonda/docs/internals; do
      echo "$to/$own"
    done
    [ ! -e "$list" ] || cat "$list"
  } | sort -ru >"$made"
  rm -f "$list"
  while read -r directory; do
    [ ! -d "$directory" ] || rmdir --ignore-fail-on-non-empty "$directory"
  done <"$made"
fi
