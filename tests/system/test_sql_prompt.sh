#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# sonda sql -i: lines that come from a pipe, and a person at a terminal: statements, completion, history, Ctrl-C, Ctrl-D.
. "$(dirname "$0")/../lib.sh"
TRACE=$PWD/tests/data/traces/ring_losses.pftrace
# shellcheck source=tests/system/tmux.sh
. tests/system/tmux.sh

is() { [ "$1" = "$2" ]; }
lines() { # OUTPUT EXIT_CODE: of statements on the standard input
  local code
  "$SONDA" sql -i "$TRACE" >"$TMP/out" 2>"$TMP/err"
  code=$?
  [ "$(tr -d '\r' <"$TMP/out")" = "$1" ] && [ $code = "$2" ]
}

check "a statement of several lines from a pipe" lines $'x\n-\n1' 0 <<<$'select 1\nas x\n;'
check "several statements on a line, a text without an end" lines $'a\n-\n1\nb\n-\n2\nc\n-\n3' 0 <<<$'select 1 as a; select 2 as b;\nselect 3 as c'
check "another mode" lines $'a,b\n1,' 0 <<<$'.mode csv\nselect 1 as a, null as b;'
check "records" lines $'-[ 1 ]-\na     1\nlong  NULL\n-[ 2 ]-\na     2\nlong  x\na  long\n-  ----\n1  y' 0 <<<$'\\x\nselect 1 as a, null as long union all select 2, \'x\';\n\\x\nselect 1 as a, \'y\' as long;'
check "the columns of a table" lines $'column    type\n--------  -------\nstart_ts  INTEGER\nend_ts    INTEGER' 0 <<<'.schema trace_bounds'
check "nothing" lines '' 0 <<<''
check "a mistake does not end it, but counts" lines $'a\n-\n1' 1 <<<$'selec 1;\nselect 1 as a;'
check "a mistake is reported" grep -q 'sql: near "selec": syntax error' "$TMP/err"
check "a table whose replacement fails stays" lines $'n\n-\n1\nn\n-\n1' 1 <<'END'
create or replace perfetto table t as select 1 as n;
create or replace perfetto table t as select nothing;
select * from t;
create or replace perfetto table t as select abs(-9223372036854775807 - 1) as n;
select * from t;
END
check "an unknown command" lines '' 1 <<<'.tabels'
check "is reported" grep -q 'unknown command ..tabels.; .help lists all commands' "$TMP/err"
check "no such table" lines '' 1 <<<'.schema nowhere'
"$SONDA" sql -i "$TRACE" <<<'.tables' >"$TMP/out"
check "tables and views are listed" grep -qx -e sched -e thread_track "$TMP/out"
"$SONDA" sql -i - <"$TRACE" >/dev/null 2>"$TMP/err"
check "a trace and statements from one pipe are refused" is $? 2

start() { # COLUMNS ROWS
  terminal "$1" "$2" XDG_STATE_HOME="$TMP/state" SONDA_PAGER="$TMP/pager"
  terminal_run "$SONDA sql -i $TRACE"
  terminal_shows '^sql>'
}
type() { terminal_keys -l "${1/%;/\\;}"; } # tmux would take a semicolon at the end for its own

printf '#!/bin/sh\nsed "s/^/paged /"\n' >"$TMP/pager"
chmod +x "$TMP/pager"
start 80 24
check "a prompt" terminal_has '^sql>'
type 'select 40 +'
terminal_keys Enter
check "another one for more lines" terminal_shows '^\.\.\.> *$'
type '2 as answer;'
terminal_keys Enter
check "the rows" terminal_shows '^ *42$'
type 'with recursive n(i) as (select 1 union all select i + 1 from n limit 40) select i from n;'
terminal_keys Enter
check "rows above the height of the screen go through the pager" terminal_shows '^paged 40$'
check "and then the prompt is there" terminal_shows '^sql> *$'
type 'select start_t'
terminal_keys Tab
check "columns are completed" terminal_shows '^sql> select start_ts'
terminal_keys C-c
check "Ctrl-C clears the line" terminal_shows '\^C'
type 'select ucpu,'
terminal_keys Enter
check "a statement goes on" terminal_shows '^\.\.\.> *$'
terminal_keys C-c
type 'select 7 as seven;'
terminal_keys Enter
check "Ctrl-C clears the lines before it" terminal_shows '^ *7$'
type 'select * from thread_s'
terminal_keys Tab
type ' as s where s.blo'
terminal_keys Tab
check "tables and columns by another name are completed" terminal_shows '^sql> select \* from thread_state as s where s\.blocked_function'
terminal_keys C-c
type 'select count(*) from spurious'
terminal_keys Tab
type '; select 1'
terminal_keys C-u
type '.sch'
terminal_keys Tab
type 'trace_b'
terminal_keys Tab Enter
check "commands are completed" terminal_shows '^end_ts +INTEGER'
type 'with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n;'
terminal_keys Enter
running() { [ -n "$(terminal_programs)" ] && grep -q '^State:.R' "/proc/$(terminal_programs)/status"; }
check "an endless query runs" terminal_wait running
terminal_keys C-c
check "Ctrl-C ends it" terminal_shows '^interrupted'
terminal_resize 50 20
type 'select 123456 as wide;'
terminal_keys Enter
check "a resize" terminal_shows '^123456$'
terminal_keys C-d
check "Ctrl-D ends it" is "$(terminal_exit_code)" 0
check "the terminal is as before" terminal_wait terminal_is_restored
check "the history is private" is "$(stat -c %a "$TMP/state/sonda/sql_history")" 600
start 40 10
terminal_keys Up
check "the history is there the next time" terminal_shows '^sql> select 123456 as wide;'
terminal_keys C-u
type '.quit'
terminal_keys Enter
check "a command ends it" is "$(terminal_exit_code)" 0
exit $BAD
