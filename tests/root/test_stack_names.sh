#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tracefs: none
# kernels: none
#
# Names of functions in call stacks: mangled ones, those in .gnu_debugdata, and those in separate debug files. All programs
# run during one recording.
. "$(dirname "$0")/lib.sh"
B=${BIN%/bin}
load=$B/tests/root/named_functions
needs_built "$load"
cd "$TMP" || exit 2
for tool in objcopy nm xz; do
  command -v $tool >/dev/null || { skip "names of functions" "$tool is not here"; exit $BAD; }
done

# ---- the programs: as built; stripped; with .gnu_debugdata; with a debug file, by build id and by link

cp "$load" plain
objcopy --only-keep-debug plain whole.debug
objcopy --strip-all plain stripped
nm --defined-only -f posix plain | awk '$2 ~ /^[Tt]$/ { print $1 }' >kept
objcopy --strip-all --keep-symbols=kept whole.debug small && xz -c small >small.xz &&
  objcopy --add-section .gnu_debugdata=small.xz stripped packed
mkdir .debug
cp whole.debug .debug/linked.debug
(cd .debug && objcopy --add-gnu-debuglink=linked.debug ../stripped ../linked)
# The debug file of another program: its build id differs.
printf 'int main(void) { return 0; }' >other.c
cc -Wl,--build-id -g -o other other.c && objcopy --only-keep-debug other .debug/wrong.debug
(cd .debug && objcopy --add-gnu-debuglink=wrong.debug ../stripped ../wrong)

ms=$(scaled 500)
"$BIN/sonda" record -o names --cpu-stacks=999 -- sh -c "
  for program in plain stripped packed linked wrong; do ./\$program $ms & done; wait" >log 2>&1
verdict "programs with and without symbols are recorded" $? log
"$BIN/sonda" sql --csv names "select distinct m.name, f.name from stack_profile_frame f
  join stack_profile_mapping m on m.id = f.mapping where m.name like '$TMP/%'" >found 2>>log
verdict "the names of their functions are read" $? log
has() { # PROGRAM NAME
  grep -qF "$TMP/$1,$2" found || grep -qF "$TMP/$1,\"$2" found
}

has plain 'store::find(std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > const&)'
verdict "a C++ function has its demangled name" $? found
has plain mycrate::foo && has plain core::fmt::Formatter::pad
verdict "Rust functions have theirs, without the hash" $? found
for program in packed linked; do
  has $program spin && has $program mycrate::foo
  verdict "a stripped program has its names ($program)" $? found
done
! has stripped spin && ! has wrong spin && ! has wrong main
verdict "without them, or with those of another program, it has none" $? found
exit $BAD
