# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# For the tests of sonda ship --compact: three traces of two machines in the strict S3 server, and a directory with the same
# objects. Sourced.
. "$(dirname "${BASH_SOURCE[0]}")/ship.sh"
DAY=2026-11-23
DIR=$TMP/directory

# A packet that says nothing makes another trace of a trace: another hash, another UUID.
add_trace() { # MACHINE NUMBER
  rm -rf "$TMP/one"
  mkdir -p "$TMP/one"
  { cat tests/data/traces/kernel_6.1.pftrace; printf '\n\003\240\001%b' "\\0$2"; } >"$TMP/one/$2.pftrace"
  touch -d @1700000100 "$TMP/one/$2.pftrace"
  ship --from "$TMP/one" --machine "$1" "$TMP/spool" "$URL" || cat "$TMP/err"
}
# The bucket's objects, as a copy of the bucket has them.
copy_bucket() { # DIR
  local key
  rm -rf "$1"
  for key in $(ask_store state | cut -d ' ' -f 1); do
    mkdir -p "$1/$(dirname "${key#fleet/}")"
    ask_store "get/$key" >"$1/${key#fleet/}"
  done
}
compact() { ship --compact "$DAY" "$@" "$TMP/spool" "$URL"; }
compact_dir() { # [ARGUMENT...]
  "$SONDA" ship --compact "$DAY" "$@" "$DIR" >"$TMP/out" 2>"$TMP/err"
}
# Keys and hashes.
objects() { ask_store state | cut -d ' ' -f 1,2; }
files() { (cd "$DIR" && find . -type f | LC_ALL=C sort | xargs sha256sum | sed 's,\(.*\)  \./\(.*\),fleet/\2 \1,'); }
# The same as bash's <(), for two programs.
same() { diff "$1" "$2" >"$TMP/diff"; }
# Every object below merged/ is named by a manifest, with its hash, and no trace is in two manifests.
manifests_are_whole() { # DIR
  python3 - "$1" <<'END' >"$TMP/out" 2>&1
import glob, hashlib, json, os, sys
os.chdir(sys.argv[1])
named, traces = {}, []
for path in glob.glob("merged/v1/manifests/*/*.json"):
    head, *rest = json.load(open(path))
    named.update((f["key"], f["sha256"]) for f in head["files"])
    traces += [t["uuid"] for t in rest]
there = {p: hashlib.sha256(open(p, "rb").read()).hexdigest() for p in glob.glob("merged/v1/*/*/all/*") if "/manifests/" not in p}
assert named == there, (set(named) ^ set(there))
assert len(traces) == len(set(traces)) and traces, traces
END
}
