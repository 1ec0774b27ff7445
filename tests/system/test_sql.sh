#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# sonda sql as a command: its forms of output, what it reads, its mistakes and their exit codes.
. "$(dirname "$0")/../lib.sh"
TRACE=tests/data/traces/ring_losses.pftrace

check() { # NAME EXIT_CODE STDOUT STDERR_REGEX ARGS... : the exact output
  local name=$1 code=$2 out=$3 err=$4 got
  shift 4
  "$SONDA" sql "$@" >"$TMP/out" 2>"$TMP/err" <"${INPUT:-/dev/null}"
  got=$?
  N=$((N + 1))
  if [ $got = "$code" ] && [ "$(tr -d '\r' <"$TMP/out")" = "$out" ] && [[ $(<"$TMP/err") =~ $err ]]; then
    echo "ok $N - $name"
  else
    echo "not ok $N - $name"
    { echo "exit code $got"; cat "$TMP/out" "$TMP/err"; } | sed 's/^/#   /'
    BAD=1
  fi
}

two="select utid, name, is_idle / 2.0 as half from thread where utid = 0"
check "a table" 0 $'utid  name     half\n----  -------  ----\n   0  swapper   0.5' '^$' "$TRACE" "$two"
check "CSV" 0 $'utid,name,half\n0,swapper,0.5' '^$' --csv "$TRACE" "$two"
check "CSV quotes" 0 $'a,b\n"x,""y""",' '^$' --csv "$TRACE" "select 'x,\"y\"' as a, null as b"
check "a spreadsheet gets no formula" 0 $'a,b,c,d\n\'=1+1,-5,"\'@x,y",z' '^$' --csv=sheet "$TRACE" "select '=1+1' as a, -5 as b, '@x,y' as c, 'z' as d"
check "CSV has text as it is" 0 $'a\n=1+1' '^$' --csv "$TRACE" "select '=1+1' as a"
check "another form of CSV" 2 '' 'use --csv or --csv=sheet' --csv=x "$TRACE" "select 1"
check "JSON" 0 $'[\n{"utid":0,"name":"swapper","half":0.5}\n]' '^$' --json "$TRACE" "$two"
check "JSON escapes" 0 $'[\n{"a":"\\u0009\\"\\n"}\n]' '^$' --json "$TRACE" $'select char(9) || \'"\' || char(10) as a'
check "several statements" 0 $'1\n1\n2\n2' '^$' --csv "$TRACE" "select 1; select 2;"
check "a statement without rows" 0 'x' '^$' --csv "$TRACE" "select 1 as x where 0"
echo "select 3 as three;" >"$TMP/script"
check "a script" 0 $'three\n3' '^$' --csv -f "$TMP/script" "$TRACE"
INPUT=$TRACE check "a trace from a pipe" 0 $'n\n1' '^$' --csv - "select count(*) as n from trace_bounds"
head -c 3001 "$TRACE" >"$TMP/cut"
check "a file that is cut off" 0 $'n\n1' 'is truncated' --csv "$TMP/cut" "select count(*) as n from trace_bounds"
check "a span join" 0 $'ts,dur,x,y\n5,5,1,2' '^$' --csv "$TRACE" "create table a as select 0 as ts, 10 as dur, 1 as x" \
  "create table b as select 5 as ts, 9 as dur, 2 as y" "create virtual table j using span_join(a, b)" "select * from j"
check "a span join of names with quotes" 0 $'ts,dur,"x""",y\n5,5,1,2' '^$' --csv "$TRACE" 'create table a as select 0 as ts, 10 as dur, 1 as "x"""' \
  "create table b as select 5 as ts, 9 as dur, 2 as y" "create virtual table j using span_join(a, b)" "select * from j"
check "a span join of tables without times" 1 '' 'span join: b has no column ts' "$TRACE" "create table a as select 0 as ts, 1 as dur" \
  "create table b as select 1 as y" "create virtual table j using span_join(a, b)"
check "a span join of one table" 1 '' 'expected SPAN_JOIN.a PARTITIONED c, b PARTITIONED c.' "$TRACE" "create virtual table j using SPAN_JOIN(a)"
check "a span join of columns of one name" 1 '' 'both tables have a column x' "$TRACE" "create table a as select 0 as ts, 1 as x" \
  "create virtual table j using span_join(a, a)"
check "a module" 0 $'n\n1' '^$' --csv "$TRACE" "include perfetto module slices.with_context; select count(*) >= 0 as n from thread_slice"
check "a module that is left out" 1 '' 'no module is named .android.startup.: sonda includes no android modules; pass a copy of Perfetto.s library with --modules DIR' "$TRACE" "INCLUDE PERFETTO MODULE android.startup;"
check "an unknown module" 1 '' 'no module is named .sched.with_contxt.; did you mean sched.with_context\?' "$TRACE" "INCLUDE PERFETTO MODULE sched.with_contxt;"
mkdir -p "$TMP/modules/own/part"
echo "include perfetto module own.part.b; create perfetto function a(x INT) returns INT as select b!(\$x);" >"$TMP/modules/own/a.sql"
echo "create perfetto macro b(x Expr) returns Expr as (\$x * 2);" >"$TMP/modules/own/part/b.sql"
echo "include perfetto module own.a; include perfetto module own.circle; create perfetto table c as select 1 as n;" >"$TMP/modules/own/circle.sql"
printf 'select 1;\n  select nope from sched;\n' >"$TMP/modules/own/bad.sql"
ln -s "$TMP" "$TMP/modules/out"
check "modules of a directory" 0 $'x\n6' '^$' --csv --modules "$TMP/modules" "$TRACE" "include perfetto module own.circle; select a(3) as x"
check "a mistake in a module" 1 '' 'module own.bad: no such column: nope \(line 2, column 10\)' --modules "$TMP/modules" "$TRACE" "include perfetto module own.*"
check "a module outside of the directory" 1 '' 'is not a module name' --modules "$TMP/modules" "$TRACE" "include perfetto module own...a"
check "no directory of modules" 1 '' '--modules: cannot open' --modules "$TMP/none" "$TRACE" "select 1"
check "a table in its dialect" 0 $'n\n7' '^$' --csv "$TRACE" " -- a comment
  create perfetto table t(n long) as select 7 as n; select n from t;"
functions="create perfetto function f(a long, t STRING) returns long as select \$a + length(\$t);
  create perfetto function rows_of(n INT) returns table(x INT, y STRING) as select \$n as x, 'a' as y union all select \$n + 1, 'b';
  create perfetto function down(n INT) returns INT as select iif(\$n, 1 + down(\$n - 1), 0);"
check "a function" 0 $'a,b\n5,' '^$' --csv "$TRACE" "$functions select f(2, 'abc') as a, f(null, 'a') as b"
check "a function's argument of another type" 1 'x' 'f: the argument .t. is INTEGER, not TEXT' --csv "$TRACE" "$functions select f(2, 3) as x"
check "a function that is a table" 0 $'n,x,y\n2,2,a\n2,3,b\n5,5,a\n5,6,b' '^$' --csv "$TRACE" "$functions select n, x, y from (select 2 as n union select 5), rows_of(n)"
check "a table without its argument" 1 '' 'rows_of: missing argument n' "$TRACE" "$functions select * from rows_of"
check "columns that were not declared" 1 '' 'the column .x. is declared, but not selected' "$TRACE" "create perfetto function t() returns table(x INT) as select 1 as y"
check "a function that calls itself" 0 $'n\n100' '^$' --csv "$TRACE" "$functions select down(100) as n"
check "a function that calls itself too often" 1 'n' 'down: function calls are nested more than 200 deep' --csv "$TRACE" "$functions select down(1000) as n"
check "a function that is there" 1 '' 'the function f already exists; use CREATE OR REPLACE' "$TRACE" "$functions create perfetto function F(x INT, y INT) returns INT as select 1"
check "a function that is replaced, and one whose replacement fails" 1 $'a\n7\na\n7' 'no such column: b .line 6, column 77.$' --csv "$TRACE" "$functions
  create or replace perfetto function f(x INT, y INT) returns INT as select 7; select f(1, 2) as a; create or replace perfetto function rows_of(n INT) returns
  table(x INT) as select 7 as x; select x as a from rows_of(1);
  create or replace perfetto function f(x INT, y INT) returns INT as select b"
check "a function of older scripts" 0 $'a,b\n8,x' '^$' --csv "$TRACE" "create table made as select create_function('twice(n INT)', 'INT', 'select \$n * 2'),
  create_view_function('word(w STRING)', 'b STRING', 'select \$w as b'); select twice(4) as a, b from word('x')"
check "functions that replace themselves while they run, or have a mistake" 1 $'n\n4\nn\n5' 'no such column: nope' --csv "$TRACE" "create table made as select create_function('me(a INT)', 'INT',
  'select create_function(''me(a INT)'', ''INT'', ''select 4'')'); create table ran as select me(1); select me(1) as n; create table again as select create_function('me(a INT)', 'INT', 'select 5');
  select me(1) as n; create table mistake as select create_function('bad(a INT)', 'INT', 'select nope')"
macros="create perfetto macro both(a Expr, b Expr) returns Expr as (\$a + \$b /* a comment */); create perfetto macro text(t ColumnName) returns Expr as __intrinsic_stringify!(\$t);"
check "macros" 0 $'a,b\n10,a \'b\'' '^$' --csv "$TRACE" "$macros select both!(1, both!((2 + 3), 4)) as a, text!( a 'b' ) as b"
check "a macro for each of a list" 0 $'a,b,c\nx,4,6' '^$' --csv "$TRACE" "$macros create perfetto macro named(a Expr, n Name) returns Name as \$a as \$n; create perfetto macro
  select_both(l List, n List) returns Q as select 'x' as a __intrinsic_token_apply_prefix!(named, \$l, \$n); select_both!((both!(1, 3), both!(2, 4)), (b, c))"
check "the place of a mistake in a macro" 1 '' 'no such column: nope .line 2, column 3.' "$TRACE" "$macros select
  both!(1, nope)"
check "arguments of a macro" 1 '' 'the macro both! takes 2 arguments, not 1 .line 1, column [0-9]*.$' "$TRACE" "$macros select both!(1)"
check "no such macro" 1 '' 'no macro is named none!' "$TRACE" "select none!(1)"
check "a macro in itself" 1 '' 'macros are nested more than 64 deep' "$TRACE" "create perfetto macro m(x Expr) returns Expr as m!(m!(\$x)); select m!(1)"
check "a macro that grows" 1 '' 'expand to more than 4 MiB' "$TRACE" "create perfetto macro m(x Expr) returns Expr as \$x, \$x; select $(printf 'm!(%.0s' {1..30})1$(printf ')%.0s' {1..30})"
check "many empty macros" 1 '' 'more than 20000 macro calls' "$TRACE" "create perfetto macro m0() returns Expr as ; $(for i in {1..20}; do
  echo "create perfetto macro m$i() returns Expr as m$((i - 1))!() m$((i - 1))!();"; done) select 1 m20!()"
check "an index" 0 $'a\n1' '^$' --csv "$TRACE" "create perfetto table t as select 1 as a; create perfetto index i on t(a); create or replace perfetto index i on t(a);
  drop perfetto index i on t; create perfetto index i on t(a); select * from t where a = 1"
check "an index that cannot be replaced stays" 1 'n
1' 'no such column: nosuch' --csv "$TRACE" "create perfetto table t as select 1 as a; create perfetto index i on t(a);
  create view found as select count(*) as n from sqlite_temp_master where name = 'i'; select * from found; create or replace perfetto index i on t(nosuch)"
check "a trigger" 0 $'n\n2' '^$' --csv "$TRACE" "create table t(a); create trigger x after insert on t when new.a = 1 begin insert into t values (2); select 1; end; insert into t values (1); select count() as n from t"
check "a no-break space" 0 $'n\n1' '^$' --csv "$TRACE" $'select\xc2\xa01 as\xc2\xa0n'
check "a view of views" 0 $'n\n1' '^$' --csv "$TRACE" "create view v as select * from slice; create view w as select count() >= 0 as n from v; select n from w"
check "a view that another schema is to have" 0 $'n\n2' '^$' --csv "$TRACE" "create view main.v as select 2 as n; select n from v"
check "a mistake in a view" 1 '' 'syntax error' "$TRACE" "create view v as selec 1"
check "columns of one name in JSON" 0 $'[\n{"a":1,"a_1":2,"b":3,"a_2":4}\n]' '^$' --json "$TRACE" "select 1 as a, 2 as a, 3 as b, 4 as a"
check "a mistake in a regular expression" 1 'x' 'unmatched' --csv "$TRACE" "select 'a' regexp '(' as x"
check "slices around a slice, without one" 1 '' 'ancestor_slice needs the id of a slice' "$TRACE" "select * from ancestor_slice"
check "no such table" 1 '' 'no such table: nowhere' "$TRACE" "select * from nowhere"
check "the first mistake ends it" 1 $'1\n1' 'syntax error' --csv "$TRACE" "select 1" "selec 2" "select 3"
check "no such file" 1 '' "cannot open $TMP/none: No such file" "$TMP/none" "select 1"
echo "this is text, not protobuf" >"$TMP/text"
check "not a trace" 1 '' 'not a Perfetto trace' "$TMP/text" "select 1"
check "a directory" 1 '' 'Is a directory' "$TMP" "select 1"
check "too little memory" 1 '' 'needs more than 16 KiB of memory; allow more with --memory' --memory 16k "$TRACE" "select 1"
for kind in clocks:8000 descriptors:24; do
  python3 tests/system/linear_trace.py "$B/gen/fields.h" ${kind%:*} ${kind#*:} "$TMP/hostile.pf"
  check "the memory of compressed ${kind%:*} counts" 1 '' 'needs more than 50 MiB of memory' --memory 50m "$TMP/hostile.pf" "select 1"
done
for format in --csv --json ""; do
  timeout 60 "$SONDA" sql $format "$TRACE" "with recursive t(n) as (select 1 union all select n + 1 from t) select n from t" 2>"$TMP/err" >/dev/full
  [ $? = 1 ] && grep -q 'No space left on device' "$TMP/err" && ok=ok || ok='not ok' BAD=1
  N=$((N + 1))
  echo "$ok $N - a full device ends rows without end${format:+ with $format}"
done
check "no statement" 2 '' 'STATEMENT is missing' "$TRACE"
check "no file" 2 '' 'FILE is missing'
check "an unknown option" 2 '' 'did you mean --json' --jsn "$TRACE" "select 1"

"$SONDA" sql "$TRACE" "with recursive n(i) as (select 1 union all select i + 1 from n) select i from n" 2>"$TMP/err" | head -n 3 >"$TMP/out"
N=$((N + 1))
grep -qx " *1" "$TMP/out" && [ ! -s "$TMP/err" ] && echo "ok $N - a closed pipe ends it" || { echo "not ok $N - a closed pipe ends it"; BAD=1; }

# The script is opened when the trace has been read; its rows are read from the file afterwards.
cp "$TRACE" "$TMP/shrinks"
mkfifo "$TMP/statements"
"$SONDA" sql -f "$TMP/statements" "$TMP/shrinks" >"$TMP/out" 2>"$TMP/err" &
exec 3>"$TMP/statements"
: >"$TMP/shrinks"
echo "select count(display_value) from args;" >&3
exec 3>&-
wait $!
got=$?
N=$((N + 1))
if [ $got = 1 ] && grep -q 'was truncated' "$TMP/err"; then
  echo "ok $N - a file that becomes shorter while it is read"
else
  echo "not ok $N - a file that becomes shorter while it is read"
  { echo "exit code $got"; cat "$TMP/out" "$TMP/err"; } | sed 's/^/#   /'
  BAD=1
fi
exit $BAD
