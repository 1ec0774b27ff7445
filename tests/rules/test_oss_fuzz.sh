#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The project of OSS-Fuzz (tools/oss-fuzz) has every fuzz target of tests/fuzz. Runs build.sh with a make that compiles
# nothing: for each target that the real make would link, it makes an empty program, and it notes the commands.
. "$(dirname "$0")/../lib.sh"
needs_commands python3
mkdir -p "$TMP/src" "$TMP/out" "$TMP/bin"
ln -s "$PWD" "$TMP/src/sonda"
cat >"$TMP/bin/make" <<STUB
#!/bin/bash
"$(command -v make)" -n V=1 "\$@" >"$TMP/commands" || exit 1
mkdir -p "$TMP/src/sonda-build/fuzz"
grep -oE -- '-o [^ ]*/sonda-build/fuzz/fuzz_[a-z_]+' "$TMP/commands" | while read -r _ target; do cp /bin/true "\$target"; done
STUB
printf '#!/bin/sh\nexit 0\n' >"$TMP/bin/a-c" # the Makefile asks it what it can
chmod +x "$TMP/bin"/*

wrong=
said=$(env -u MAKEFLAGS -u MAKELEVEL -u WORK -u CXXFLAGS PATH="$TMP/bin:$PATH" SRC="$TMP/src" OUT="$TMP/out" CC=a-c CXX=a-cxx CFLAGS=-a-flag \
  LIB_FUZZING_ENGINE=an-engine.a tools/oss-fuzz/build.sh 2>&1 >/dev/null) || wrong="it ended with an error: $said"
no_offenders "build.sh runs" "$wrong"
wrong=$(for source in tests/fuzz/fuzz_*.c; do
  name=$(basename "$source" .c)
  [ -x "$TMP/out/$name" ] || echo "$name is not in OUT"
  inputs=$(find "tests/fuzz/corpus/${name#fuzz_}" -type f 2>/dev/null | wc -l)
  zipped=$(python3 -m zipfile -l "$TMP/out/${name}_seed_corpus.zip" 2>/dev/null | tail -n +2 | wc -l)
  [ "$inputs" -gt 0 ] && [ "$inputs" = "$zipped" ] || echo "$name has $inputs inputs, and $zipped in OUT"
done)
no_offenders "each fuzz target is in OUT with its corpus" "$wrong"
wrong=$(for source in tests/fuzz/fuzz_*.c; do
  name=$(basename "$source" .c)
  grep -qE "^a-cxx .*-a-flag.* -o [^ ]*/fuzz/$name .*an-engine\.a" "$TMP/commands" || echo "$name is linked without the C++ compiler, the flags or the engine"
  grep -qE "^a-c .*-a-flag.* $source\$" "$TMP/commands" || echo "$name is compiled without the flags"
done
grep -qE '^a-c .* -a-flag .*src/wire/frame\.c$' "$TMP/commands" || echo "src is compiled without the flags"
! grep -q 'FORTIFY_SOURCE' "$TMP/commands" || echo "FORTIFY_SOURCE hides calls from sanitizers")
no_offenders "each is built with the compilers, flags and engine of OSS-Fuzz" "$wrong"
wrong=$(grep -ohE '"[^"]*tests/data/[a-z0-9_/]+' tests/fuzz/fuzz_*.c | grep -oE 'tests/data/.*' | sort -u | while read -r path; do
  diff -r "$path" "$TMP/out/$path" >/dev/null 2>&1 || echo "$path is not in OUT"
done)
no_offenders "the files that targets read are in OUT" "$wrong"
wrong=$(for key in homepage language primary_contact main_repo sanitizers fuzzing_engines; do
  grep -q "^$key:" tools/oss-fuzz/project.yaml || echo "project.yaml has no $key"
done
release=$(sed -n 's/^base_os_version: //p' tools/oss-fuzz/project.yaml)
grep -q "^FROM .*:$release\$" tools/oss-fuzz/Dockerfile || echo "the Dockerfile is not of $release"
sed -n 's/.*make [^&]* //p' tools/oss-fuzz/Dockerfile | while read -r target; do
  grep -q "^$target:" Makefile || echo "the Dockerfile makes $target, which does not exist"
done)
no_offenders "project.yaml and Dockerfile fit together and to the Makefile" "$wrong"
echo "1..$N"
exit $BAD
