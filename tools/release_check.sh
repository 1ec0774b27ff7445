#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# usage: tools/release_check.sh BUILD [STEP...]        as root; hours
#
# The checks that a release needs (CONTRIBUTING.md, Releases), one after the other, on a commit. A line says how each ended, and
# where its output is; the last line says whether all did. Without a list all steps are taken, also after one has failed.
set -u
cd "$(dirname "$0")/.." || exit 2
B=$1
shift
steps=(version check-all heavy check-page check-distros check-packages check-arm64 check-kernels reproducible asan tsan fuzz fuzz-live soak
  check-cost bench lint)
[ $# -gt 0 ] || set -- "${steps[@]}"
for step; do
  case " ${steps[*]} " in *" $step "*) ;; *)
    echo "there is no step '$step'; they are: ${steps[*]}" >&2
    exit 2
    ;;
  esac
done

# The version stands in the header, the changelog of the packages, and the first heading of NEWS.md, which has a date.
version() {
  local header
  header=$(awk '/^#define SONDA_VERSION_(MAJOR|MINOR|PATCH) / { v = v (v ? "." : "") $3 } END { print v }' include/sonda/version.h)
  echo "version.h $header, debian/changelog $(sed -n '1s/.*(\(.*\)).*/\1/p' debian/changelog), NEWS.md $(grep -m 1 '^## ' NEWS.md)"
  grep -q "^sonda ($header-[0-9]*) " debian/changelog && grep -m 1 '^## ' NEWS.md | grep -qE "$header.*20[0-9]{2}-[0-9]{2}-[0-9]{2}" &&
    [ -z "$(git status --porcelain)" ]
}
run() { # STEP
  case $1 in
  version) version ;;
  reproducible) tests/distros/reproducible.sh && tools/dist.sh "$B" ;;
  check-all) make check-all && ! grep '^FLAKY' "$log/check-all" ;;
  heavy) tests/run.sh "$B" heavy ;;
  fuzz) make fuzz FUZZ_SECONDS="${FUZZ_SECONDS:-600}" ;;
  *) make "$1" ;;
  esac
}

log=$B/release
mkdir -p "$log"
echo "commit $(git rev-parse HEAD)" | tee "$log/summary"
failed=0
for step; do
  began=$SECONDS
  if run "$step" >"$log/$step" 2>&1 </dev/null; then
    say=ok
  else
    say=FAILED failed=$((failed + 1))
  fi
  printf '%-6s %-14s %6d s  %s  %s\n' $say "$step" $((SECONDS - began)) "$log/$step" "$(tail -n 1 "$log/$step" | cut -c 1-80)" |
    tee -a "$log/summary"
done
echo "$(($# - failed)) of $# steps are green" | tee -a "$log/summary"
[ $failed = 0 ]
