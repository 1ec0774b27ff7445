#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tracefs: none
#
# sonda symbolize: functions, inlined functions and lines are those of eu-addr2line, in sonda's tables and in those of
# trace_processor. The packets before are unchanged; a file with another build id is not used; no server is asked unless the
# user wants it.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/sql_lib.sh"
command -v eu-addr2line >/dev/null || { echo "eu-addr2line is missing" >&2; exit 77; }
dir=$TMP/symbolize
mkdir "$dir" "$dir/debug"
details() { cat "$dir/log" "$dir/err" 2>/dev/null; }

cat >"$dir/program.c" <<'PROGRAM'
#include <stdio.h>
#include <stdlib.h>
static inline __attribute__((always_inline)) int innermost(int x)
{
	return x * 3 + 1;
}
static inline __attribute__((always_inline)) int middle(int x)
{
	int y = innermost(x);
	return y ^ innermost(y + 1);
}
static __attribute__((noinline)) int outermost(const char *const *words, int n)
{
	int sum = 0;
	for (int i = 0; i < n; i++)
		sum += middle(atoi(words[i]));
	return sum;
}
#define FURTHER(n)                                                                                 \
	static __attribute__((noinline)) int further_##n(int x)                                    \
	{                                                                                          \
		if (x > n)                                                                         \
			x = middle(x) + n;                                                         \
		return atoi("7") + innermost(x);                                                   \
	}
FURTHER(1) FURTHER(2) FURTHER(3) FURTHER(4) FURTHER(5) FURTHER(6) FURTHER(7) FURTHER(8) FURTHER(9)
int main(int argc, char **argv)
{
	int x = further_1(further_2(further_3(further_4(further_5(argc)))));
	printf("%d\n", outermost((const char *const *)argv, argc));
	return further_6(further_7(further_8(further_9(x))));
}
PROGRAM
cc -O2 -g -Wl,--build-id -o "$dir/program" "$dir/program.c" && cp "$dir/program" "$dir/whole" &&
  echo 'int main(void) { return 1; }' >"$dir/other.c" && cc -g -Wl,--build-id -o "$dir/other" "$dir/other.c" || exit 2
python3 "$HERE/frames_of_program.py" trace "$dir/program" >"$dir/text" &&
  protoc -Iprotos --encode=perfetto.protos.Trace protos/trace/trace.proto <"$dir/text" >"$dir/trace" 2>"$dir/log"
verdict "a trace has a sample at each place of a program" $? "$dir/log"

symbols="select f.rel_pc as pc, s.name, s.source_file, s.line_number from stack_profile_frame f
  join stack_profile_symbol s using (symbol_set_id) order by f.id, s.id"
symbolize() { # OUT ARGUMENT...
  "$BIN/sonda" symbolize -o "$dir/$1" "${@:2}" >"$dir/log" 2>"$dir/err"
}
lines_of() { # TRACE: number of symbols with a line
  "$BIN/sonda" sql --csv "$dir/$1" 'select count(*) from stack_profile_symbol where line_number > 0' | tail -n 1 | tr -dc 0-9
}

symbolize named "$dir/trace"
verdict "functions and lines are added" $?
"$BIN/sonda" sql --json "$dir/named" "$symbols" >"$dir/rows" 2>"$dir/err"
python3 "$HERE/frames_of_program.py" compare "$dir/program" "$dir/rows" >"$dir/log" 2>&1
verdict "they are those of eu-addr2line" $? "$dir/log"
cmp -s <(head -c "$(stat -c %s "$dir/trace")" "$dir/named") "$dir/trace"
verdict "the packets before are unchanged" $?
trace_errors "$dir/named" >"$dir/log"
[ "$(cat "$dir/log")" = "[]" ]
verdict "trace_processor has no complaint" $?
equal "frames and symbols" "$dir/named" "select id, name, rel_pc, symbol_set_id from stack_profile_frame order by id" \
  "select id, symbol_set_id, name, source_file, line_number from stack_profile_symbol order by id"

symbolize named "$dir/trace"
[ $? = 2 ] && grep -q 'already exists' "$dir/err"
verdict "a file is replaced only with --force" $?
cp "$dir/trace" "$dir/copy"
"$BIN/sonda" symbolize --in-place "$dir/copy" >"$dir/log" 2>"$dir/err" && cmp -s "$dir/copy" "$dir/named"
verdict "--in-place replaces the trace" $?
symbolize again "$dir/copy"
cmp -s "$dir/again" "$dir/copy"
verdict "symbols are added once" $?

# ---- the debug file is elsewhere; another program is at the path

id=$(readelf -n "$dir/whole" | sed -n 's/.*Build ID: //p')
mkdir -p "$dir/debug/.build-id/${id:0:2}"
objcopy --strip-debug "$dir/whole" "$dir/program"
symbolize stripped "$dir/trace" && [ "$(lines_of stripped)" = 0 ] && grep -q "no debug information: $dir/program" "$dir/err"
verdict "without debug information, functions have no lines" $?
! grep -q sandbox "$dir/err"
verdict "  and nothing is tried that the process may not do" $?
objcopy --only-keep-debug "$dir/whole" "$dir/debug/.build-id/${id:0:2}/${id:2}.debug"
symbolize separate --debug-dir "$dir/debug" "$dir/trace"
"$BIN/sonda" sql --json "$dir/separate" "$symbols" >"$dir/rows.separate" && cmp "$dir/rows" "$dir/rows.separate" >>"$dir/log"
verdict "a separate debug file gives the same lines" $?
mkdir "$dir/.debug"
objcopy --only-keep-debug "$dir/whole" "$dir/.debug/linked.debug"
(cd "$dir/.debug" && objcopy --add-gnu-debuglink=linked.debug "$dir/program")
symbolize linked "$dir/trace"
"$BIN/sonda" sql --json "$dir/linked" "$symbols" >"$dir/rows.linked" && cmp "$dir/rows" "$dir/rows.linked" >>"$dir/log"
verdict "  also by its link" $?
rm -r "$dir/program" "$dir/.debug"
symbolize gone --debug-dir "$dir/debug" "$dir/trace" && [ "$(lines_of gone)" = "$(lines_of named)" ]
verdict "  also without the program" $?
cp "$dir/other" "$dir/program"
symbolize wrong "$dir/trace" && [ "$("$BIN/sonda" sql --csv "$dir/wrong" 'select count(*) from stack_profile_symbol' | tail -n 1 | tr -dc 0-9)" = 0 ]
verdict "a program with another build id is not used" $?

# ---- servers

(cd "$dir" && exec python3 -c 'import os, socket, sys
s = socket.create_server(("127.0.0.1", 0))
print(s.getsockname()[1], file=open("port.new", "w"), flush=True)
os.rename("port.new", "port")
while True:
    c = s.accept()[0]
    request = c.recv(4096)
    open("asked", "wb").write(request)
    c.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
    c.close()') &
PIDS+=($!)
until [ -s "$dir/port" ]; do sleep 0.05; done
DEBUGINFOD_URLS="http://127.0.0.1:$(cat "$dir/port")"
export DEBUGINFOD_URLS DEBUGINFOD_CACHE_PATH="$dir/cache"
symbolize unasked "$dir/trace" && [ ! -e "$dir/asked" ]
verdict "no server is asked because DEBUGINFOD_URLS is set" $?
if symbolize asking --debuginfod "$dir/trace"; then
  grep -q "/buildid/$id/debuginfo" "$dir/asked"
  verdict "one is asked with --debuginfod" $?
else
  grep -q 'install libdebuginfod1' "$dir/err"
  verdict "with --debuginfod the missing library is named" $?
fi
rm -f "$dir/asked"
unset DEBUGINFOD_URLS
symbolize unset --debuginfod "$dir/trace"
[ $? = 1 ] && grep -q 'set DEBUGINFOD_URLS' "$dir/err"
verdict "--debuginfod needs the servers' names" $?
exit $BAD
