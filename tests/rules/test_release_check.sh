#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tools/release_check.sh, in a repository of its own with a make that runs nothing: what counts as green, and what is run again.
. "$(dirname "$0")/../lib.sh"
needs_commands git
repository=$TMP/repository
mkdir -p "$TMP/bin" "$repository"
cp --parents tools/release_check.sh include/sonda/version.h debian/changelog packaging/rpm/sonda.spec packaging/arch/PKGBUILD NEWS.md \
  tests/fuzz/fuzz_frame.c "$repository"
# A step does what its file says.
cat >"$TMP/bin/make" <<STUB
#!/bin/bash
for step; do :; done
case \$step in *=*) step=\${*: -2:1} ;; esac
echo "\$step" >>"$TMP/calls"
[ ! -e "$TMP/do-\$step" ] || . "$TMP/do-\$step"
STUB
chmod +x "$TMP/bin/make"
cd "$repository" || exit 2
commit() { git add -A && git -c user.name=a -c user.email=a@example.org commit -qm "$1"; }
echo build/ >.gitignore
git init -q && commit first || exit 2
check_steps() { # STATUS CALLS STEP...: runs these steps; the status, and the steps that make was called for
  local status
  : >"$TMP/calls"
  PATH=$TMP/bin:$PATH tools/release_check.sh build "${@:3}" >"$TMP/said" 2>&1
  status=$?
  [ $status = "$1" ] && [ "$(paste -sd' ' "$TMP/calls")" = "$2" ]
}
summary() { # PATTERN: a line of the summary of this commit has it
  grep -qE "$1" "build/release/$(git rev-parse HEAD)/summary"
}
details() { cat "$TMP/said" "$TMP/calls" build/release/*/summary; }

touch changed
check_steps 2 '' lint
verdict "a tree with changes is refused" $?
rm changed
echo 'echo "skip x: no root"; echo "3 passed, 1 failed"; exit 1' >"$TMP/do-soak"
check_steps 1 'soak lint' soak lint && summary '^FAILED soak .* 1 skipped .*SECONDS=.*: 3 passed, 1 failed$' && summary '^ok +lint '
verdict "a step that fails is said, and the next one runs" $?
summary '^1 of [0-9]+ steps are green.* not green:.* soak'
verdict "the summary names what is not green" $?
rm "$TMP/do-soak"
check_steps 0 'soak' soak lint && grep -q '^ok *lint.*already green' "$TMP/said" && summary '^2 of '
verdict "what is green on this commit is not run again" $?
AGAIN=1 check_steps 0 'soak lint' soak lint
verdict "with AGAIN it is" $?
echo 'echo "FLAKY x: it failed beside others"' >"$TMP/do-asan"
check_steps 1 'asan' asan && summary '^FAILED asan '
verdict "a flaky test fails its step" $?
echo 'touch changed' >"$TMP/do-tsan"
check_steps 1 'tsan' tsan && summary '^FAILED tsan '
verdict "a step fails if the tree changes meanwhile" $?
rm changed

# A release: the same version everywhere, and one date.
date=2026-01-31
sed -i "0,/^## .*/s//## $(sed -n 's/^pkgver=//p' packaging/arch/PKGBUILD) ($date)/" NEWS.md
sed -i "0,/^ -- \(.*\)>  .*/s// -- \1>  $(LC_ALL=C date -u -R -d $date)/" debian/changelog
sed -i "0,/^\* ... ... .. ..../s//$(LC_ALL=C date -u -d $date '+* %a %b %d %Y')/" packaging/rpm/sonda.spec
commit release
check_steps 0 'lint' lint version && summary '^2 of '
verdict "a new commit has nothing that is green, and one version" $?
wrong=
while read -r file expression; do
  sed -i "$expression" $file && commit "another $file"
  check_steps 1 '' version || wrong+="$file: $expression"$'\n'
  git reset -q --hard HEAD~
done <<'LIST'
NEWS.md 0,/^## /s/-31)/-30)/
include/sonda/version.h s/VERSION_PATCH .*/VERSION_PATCH 77/
debian/changelog 1s/(.*)/(7.7.7-1)/
packaging/rpm/sonda.spec s/^Version:.*/Version: 7.7.7/
packaging/rpm/sonda.spec s/ 31 2026/ 30 2026/
packaging/arch/PKGBUILD s/^pkgver=.*/pkgver=7.7.7/
LIST
no_offenders "each file that has another version or date is found" "$wrong"
echo "1..$N"
exit $BAD
