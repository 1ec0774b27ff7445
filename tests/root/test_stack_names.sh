#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tracefs: none
# kernels: none
#
# Names of functions in call stacks: mangled ones, those in .gnu_debugdata, in separate debug files, and of code that a
# program compiles while it runs. All programs run during one recording.
. "$(dirname "$0")/lib.sh"
B=${BIN%/bin}
load=$B/tests/root/named_functions compiled=$B/tests/root/compiled_code
needs_built "$load" "$compiled"
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

# ---- programs that compile code, whose names are as they should be; whose names must not be read; in a container

mkdir inner && cp "$compiled" inner/compiled_code
compilers='none map moved removed dump link fifo huge stranger'
container="mount --bind $TMP/inner /tmp && exec /tmp/compiled_code 800 map inside_container"
unshare -m -p -f true 2>/dev/null || container=

# ---- the recording; the server for debug files, which the environment names, is not asked

python3 -c 'import socket, sys
s = socket.create_server(("127.0.0.1", 0))
print(s.getsockname()[1], file=open("port.new", "w"), flush=True)
__import__("os").rename("port.new", "port")
s.accept()
open("asked", "w").close()' &
PIDS+=($!)
until [ -s port ]; do sleep 0.05; done

ms=$(scaled 700)
DEBUGINFOD_URLS=http://127.0.0.1:$(cat port) "$BIN/sonda" record -o names --cpu-stacks=999 -- sh -c "
  for program in plain stripped packed linked wrong; do ./\$program $((ms / 3)) & done
  for how in $compilers; do '$compiled' $((4 * ms)) \$how name_of_\$how & done # the names are read in the first half
  [ -z '$container' ] || unshare -m -p -f sh -c '$container'
  wait" >log 2>&1
verdict "programs with and without symbols are recorded" $? log
"$BIN/sonda" sql --csv names "select distinct m.name, f.name from stack_profile_frame f
  join stack_profile_mapping m on m.id = f.mapping where m.name like '$TMP/%' or m.name = '//anon'" >found 2>>log
verdict "the names of their functions are read" $? log
tr -d "\r" <found >found.lines && mv found.lines found
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

for how in map dump; do
  grep -qx "//anon,name_of_$how" found
  verdict "compiled code has the names that its process tells ($how)" $? found
done
grep -qx '//anon,name_of_moved_moved' found
verdict "memory that is used again has the name of the new code" $? found
grep -qx '//anon,name_of_removed_moved' found
verdict "names are read from a file that its process has removed" $? found
! grep -qE 'name_of_(link|fifo|huge|stranger)' found && grep -qx '//anon,' found
verdict "a link, a FIFO, a huge file and that of another user are not read" $? found
if [ -n "$container" ]; then
  grep -qx '//anon,inside_container' found
  verdict "a process in other namespaces has its names, too" $? found
else
  skip "a process in other namespaces has its names, too" "unshare is not allowed"
fi
[ ! -e asked ]
verdict "no server was asked for debug files" $? log
exit $BAD
