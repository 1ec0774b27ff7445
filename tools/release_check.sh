#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# usage: tools/release_check.sh BUILD [STEP...]        as root; hours
#
# The checks that a release needs (CONTRIBUTING.md, Releases), one after the other, on a commit: of all steps, or of those in
# the list. Goes on after a step that fails. BUILD/release/COMMIT/summary has a line for each step that has ended on this commit: result,
# seconds, skipped tests, and the last line of its output, which is beside the summary. A step that is green on this commit is
# not run again unless AGAIN=1, so an interrupted check continues where it was.
#
# Exit codes: 0 all steps of the list are green, 1 one is not, 2 the command line or the tree is wrong.
set -u
cd "$(dirname "$0")/.." || exit 2
B=$1
shift
# In the order in which failures are likely.
steps=(version check-all lint check-packages check-distros asan tsan heavy check-arm64 check-kernels check-page reproducible check-cost
  fuzz fuzz-live soak bench)
[ $# -gt 0 ] || set -- "${steps[@]}"
for step; do
  case " ${steps[*]} " in *" $step "*) ;; *)
    echo "there is no step '$step'; they are: ${steps[*]}" >&2
    exit 2
    ;;
  esac
done

# What limits a step to minutes, as a variable of make. check-all boots the oldest and the newest kernel, has the rules, and leaves
# the costs to check-cost. In chroots the rules that read sources say the same again, and so do the interop tests. Each fuzzer runs
# so long that all take ten minutes.
fuzzers=(tests/fuzz/fuzz_*.c)
declare -A limit=(
  [check-all]="OTHER_TESTS=system/test_cost.sh"
  [lint]="RULES=no"
  [check-distros]="OTHER_TESTS=interop/* rules/test_[!h]* rules/test_headers.sh"
  [asan]="KINDS=unit fuzz system"
  [tsan]="KINDS=unit fuzz system"
  [check-kernels]="GUESTS=6.1 6.12"
  [fuzz]="FUZZ_SECONDS=$((600 * $(nproc) / ${#fuzzers[@]}))"
  [fuzz-live]="FUZZ_SECONDS=300"
  [soak]="SECONDS=300"
)

commit=$(git rev-parse HEAD) || exit 2
is_at_commit() {
  [ "$(git rev-parse HEAD)" = "$commit" ] && [ -z "$(git status --porcelain)" ]
}
is_at_commit || {
  echo "release check: the tree differs from the commit; commit or remove this first:" >&2
  git status --short >&2
  exit 2
}

# The version is the same in all files that have it, and the newest entries of NEWS.md, debian/changelog and sonda.spec have the
# same date.
version() {
  local header news date spec=packaging/rpm/sonda.spec
  header=$(awk '/^#define SONDA_VERSION_(MAJOR|MINOR|PATCH) / { v = v (v ? "." : "") $3 } END { print v }' include/sonda/version.h)
  news=$(grep -m 1 '^## ' NEWS.md)
  date=$(date -u -d "$(sed -n 's/^ -- .*>  //p;T;q' debian/changelog)" +%Y-%m-%d)
  head -n 1 debian/changelog
  grep -h -e '^Version:' -e '^pkgver=' -e '^\* ... ... ' $spec packaging/arch/PKGBUILD
  echo "version.h $header, NEWS.md '$news', debian/changelog of $date"
  [ "$news" = "## $header ($date)" ] && grep -q "^sonda ($header-[0-9]*) unstable;" debian/changelog &&
    grep -qx "Version: *$header" $spec && grep -q "^$(LC_ALL=C date -d "$date" '+\* %a %b %d %Y') .* $header-" $spec &&
    grep -qx "pkgver=$header" packaging/arch/PKGBUILD
}
# As if it were typed: nothing of the make that runs this.
make_target() { # TARGET...
  env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS -u WERROR make --no-print-directory B="$B" "$@"
}
run() { # STEP
  case $1 in
  version) version ;;
  reproducible) tests/distros/reproducible.sh && tools/dist.sh "$B" ;;
  heavy) make_target -j"$(nproc)" programs tests && JOBS=$(nproc) tests/run.sh "$B" heavy ;;
  *) make_target "$1" ${limit[$1]:+"${limit[$1]}"} ;;
  esac
}

log=$B/release/$commit
mkdir -p "$log"
write_summary() {
  local step green=0 seconds=0 result t missing=
  echo "commit $commit"
  for step in "${steps[@]}"; do
    result=
    if read -r result _ t _ 2>/dev/null <"$log/$step.result"; then
      cat "$log/$step.result"
      seconds=$((seconds + t))
    fi
    if [ "$result" = ok ]; then green=$((green + 1)); else missing+=" $step"; fi
  done
  echo "$green of ${#steps[@]} steps are green, in $seconds s${missing:+; not green:$missing}"
}
failed=0
for step; do
  if [ -z "${AGAIN:-}" ] && grep -qs '^ok' "$log/$step.result"; then
    echo "$(<"$log/$step.result") (already green on this commit)"
    continue
  fi
  rm -f "$log/$step.result"
  began=$SECONDS
  run "$step" >"$log/$step" 2>&1 </dev/null
  status=$?
  if ! is_at_commit; then
    echo "the tree was changed while this step ran" >>"$log/$step"
    status=1
  fi
  # A test that passes only when it runs alone is not green.
  ! grep '^FLAKY' "$log/$step" || status=1
  if [ $status = 0 ]; then say=ok; else say=FAILED failed=$((failed + 1)); fi
  printf '%-6s %-14s %6d s  %3d skipped  %s%s\n' $say "$step" $((SECONDS - began)) "$(grep -cE '^skip |^ok .*# *SKIP' "$log/$step")" \
    "${limit[$step]:+${limit[$step]}: }" "$(tail -n 1 "$log/$step" | cut -c 1-100)" | tee "$log/$step.result"
  write_summary >"$log/summary"
done
write_summary >"$log/summary"
tail -n 1 "$log/summary"
echo "$log/summary"
[ $failed = 0 ]
