#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tracefs: shared
#
# The programs of examples/, built with the public headers and the libraries alone, as C and as C++: recorded with sonda record
# --app, and all of them in one session of either family's service, by either family's command.
. "$(dirname "$0")/lib.sh"
LIB=$(realpath "$B/lib")
[ -e "$LIB/libsonda.so" ] || { echo "libsonda.so is not built" >&2; exit 77; }
# A program needs the sanitizer of the library, by the same compiler.
compilers=("clang -std=gnu11" "gcc -std=gnu11")
case $(nm -D "$LIB/libsonda.so" | grep -oE '__[at]san_init') in
*asan*) compilers=("gcc -std=gnu11 -fsanitize=address,undefined") ;;
*tsan*) compilers=("gcc -std=gnu11 -fsanitize=thread") ;;
esac

dir=$TMP/examples
mkdir "$dir"
use_sockets "$dir"

build() { # COMPILER... EXAMPLE
  # shellcheck disable=SC2086
  "${@:1:$#-1}" -Wall -Wextra -pedantic -Werror -O2 -Iinclude -o "$dir/${*: -1}" "examples/${*: -1}.c" -L"$LIB" -Wl,--as-needed -lsonda -lsonda-service -lsqlite3 \
    -Wl,-rpath,"$LIB" -pthread >"$dir/log" 2>&1
}

for example in thread_pool server counters states load_average record_itself sqlite; do
  for compiler in "${compilers[@]}"; do
    command -v "${compiler%% *}" >/dev/null || continue
    # shellcheck disable=SC2086
    build $compiler $example
    verdict "$example builds with $compiler" $? "$dir/log"
  done
done
# The headers alone, under each compiler and language.
cat >"$dir/headers.c" <<'C'
#include <sonda/sonda.h>
SONDA_CATEGORY_DEFINE(net, "net", "Requests", "slow");
SONDA_CATEGORY_DEFINE(other, "other");
SONDA_DYNAMIC_CATEGORY_DEFINE(dynamic);
void use(int n, const char *text);
void use(int n, const char *text)
{
	struct sonda_track ram = sonda_track_counter("ram", NULL);
	struct sonda_track link = sonda_track_state("link", 3, NULL);
	SONDA_SCOPE(net, "one");
	SONDA_SCOPE(net, "two", SONDA_INT("n", n));
	SONDA_INSTANT(net, "alone");
	SONDA_INSTANT(dynamic, "all", SONDA_IN_CATEGORY(text), SONDA_HERE(), SONDA_LOG(SONDA_LOG_INFO, "x"));
	SONDA_BEGIN(other, "nested", SONDA_DOUBLE("d", 1.5), SONDA_POINTER("p", text), SONDA_BOOL("b", n == 3),
		    SONDA_DICT("dict", SONDA_STRING("s", text), SONDA_ARRAY("a", SONDA_INT_ITEM(1), SONDA_DICT_ITEM(SONDA_UINT("u", 2)))),
		    SONDA_FIELD_MESSAGE(9900, SONDA_FIELD_INT(1, 2)), SONDA_PROTO("m", ".a.B", text, 3), SONDA_EXTRA_INT(&ram, 3));
	SONDA_END(other);
	SONDA_END(other, SONDA_FLOW_END(7));
	if (n)
		SONDA_COUNTER(other, &ram, n);
	else
		SONDA_COUNTER_DOUBLE(other, &ram, 1.5);
	SONDA_STATE(other, &link, "up");
	SONDA_STATE(other, &link, "up", SONDA_INT("n", n));
	SONDA_STATE_DYNAMIC(other, &link, text);
	SONDA_STATE_DYNAMIC(other, &link, text, SONDA_INT("n", n));
	SONDA_STATE_END(other, &link);
	SONDA_INSTANT_DYNAMIC(other, text, sonda_arg_named(SONDA_INT_ITEM(3), text));
}
C
for compiler in "gcc -std=c11" "clang -std=c11" "g++ -std=c++17 -xc++" "clang++ -std=c++17 -xc++"; do
  command -v "${compiler%% *}" >/dev/null || continue
  # shellcheck disable=SC2086
  $compiler -O2 -Wall -Wextra -Wshadow -pedantic -Werror -Iinclude -c -o "$dir/headers.o" "$dir/headers.c" >"$dir/log" 2>&1
  verdict "the headers and macros are clean under $compiler" $? "$dir/log"
done

(cd "$dir" && ./record_itself trace) >"$dir/log" 2>&1
verdict "record_itself records itself without a service" $? "$dir/log"
check_answer "20 rounds of 5 parts, and the sum after each" "$dir/trace" "select (select count() from slice where name = 'round' and dur > 0) as rounds,
  (select count() from slice p join slice r on p.parent_id = r.id where p.name = 'part' and r.name = 'round') as parts,
  (select count() from counter) as sums, (select count() from stats where severity = 'error' and value > 0) as bad" \
  '[{"rounds":20,"parts":100,"sums":20,"bad":0}]'

timeout 60 "$BIN/sonda" record --app 'pool*' waits syscalls runq processes -o "$dir/trace" -- "$dir/thread_pool" \
  >"$dir/log" 2>&1
verdict "thread_pool with counters, system calls and waits of its threads" $? "$dir/log"
check_answer "readers see each thread and process once, also if two programs describe it" "$dir/trace" "select (select count() from slice s join thread_track t on track_id = t.id
    where t.name = 'waits') > 0 as waits, (select count() from slice where name = 'job') as jobs, (select count() from
    (select 1 from thread where tid > 0 group by tid having count() > 1)) as threads, (select count() from
    (select 1 from process where pid > 0 group by pid having count() > 1)) as processes, (select count() from stats
    where name like 'track_descriptor%' and value > 0) as conflicts" '[{"waits":1,"jobs":40,"threads":0,"processes":0,"conflicts":0}]'

start_service sonda "$dir"
run() { # EXAMPLE CATEGORIES
  timeout 60 "$BIN/sonda" record --app "$2" -o "$dir/trace" -- "$dir/$1" >"$dir/log" 2>&1
  verdict "sonda record --app '$2' -- $1" $? "$dir/log"
}

run thread_pool 'pool*'
check_answer "40 jobs" "$dir/trace" "select count() as n from slice where name = 'job' and dur > 0" '[{"n":40}]'
check_answer "each by a flow from where it was queued" "$dir/trace" "select count() as n from flow f join slice o on slice_out = o.id
  join slice i on slice_in = i.id where o.name = 'queue' and i.name = 'job'" '[{"n":40}]'
check_answer "the queue is empty at last" "$dir/trace" "select value from counter c join counter_track t on c.track_id = t.id
  where t.name = 'queued jobs' order by ts desc limit 1" '[{"value":0}]'
run server 'http,other'
check_answer "20 requests with their phases and results" "$dir/trace" "select count() as n, sum(extract_arg(arg_set_id, 'debug.status') = 200) as ok,
  (select count() from slice p join slice r on p.parent_id = r.id where r.name = 'request' and p.name in ('parse', 'reply')) as phases
  from slice where name = 'request' and dur > 0" '[{"n":20,"ok":20,"phases":40}]'
run counters 'app.*'
check_answer "50 samples of each" "$dir/trace" "select count() as n, count(distinct track_id) as t from counter c join counter_track t on c.track_id = t.id
  where t.name in ('heap', 'load', 'bytes handled')" '[{"n":150,"t":3}]'
check_answer "the total only grows" "$dir/trace" "select count() as n from (select value - lag(value) over (order by ts) as d from counter c
  join counter_track t on c.track_id = t.id where t.name = 'bytes handled') where d < 0" '[{"n":0}]'
run states 'app.*'
"$BIN/sonda" sql --csv "$dir/trace" "select group_concat(n) from (select count() as n from state s join process_state_track t on t.id = s.track_id
    where t.name = 'connection' group by track_id order by min(s.ts))" "select value, count(), min(dur) > 0 from state group by 1 order by 1" \
  "select count() from (select ts + dur != lead(ts) over (partition by track_id order by ts) as gap from state) where gap" >"$dir/got"
[ "$(tr -d '\r' <"$dir/got")" = 'group_concat(n)
"9,9,9"
value,count(),min(dur) > 0
busy,12,1
connecting,3,1
idle,6,1
waiting,6,1
count()
0' ]
verdict "sonda sql has the 9 states of each connection, without gaps" $? "$dir/got"
check_answer "trace_processor 55 leaves the states out without an error" "$dir/trace" "select count() as bad from stats where severity in ('error', 'data_loss')
  and value > 0" '[{"bad":0}]'
run counters 'nothing'
check_answer "what no --app names is not recorded" "$dir/trace" "select count() as n from counter c join counter_track t on c.track_id = t.id
  where t.name = 'heap'" '[{"n":0}]'
"$dir/load_average" &
PIDS+=($!)
for duration in 0.5 2 8 30; do # it may take a while until it has connected
  "$BIN/sonda" record -c examples/load_average.cfg -t $duration -o "$dir/trace" >"$dir/log" 2>&1
  query "$dir/trace" "select count(*) > 0 as n from counter c join counter_track t on c.track_id = t.id where t.name = 'load average'" >"$dir/got"
  ! grep -q ':1' "$dir/got" || break
done
grep -q ':1' "$dir/got"
verdict "the counter of load_average" $? "$dir/log"
stop_all

# ---- all of them, either service, either command ----
cat >"$dir/statements.sql" <<'SQL'
create table t (a integer primary key, b text);
begin;
insert into t (b) with recursive n(i) as (select 1 union all select i + 1 from n where i < 1000) select 'text ' || i from n;
commit;
select count(*) from t where b glob 'text 9*';
SQL
cat >"$dir/config" <<'CONFIG'
buffers { size_kb: 16384 }
data_sources { config { name: "track_event" track_event_config { enabled_categories: "*" } } }
trigger_config { trigger_mode: STOP_TRACING trigger_timeout_ms: 50000 triggers { name: "sonda.test.examples.end" stop_delay_ms: 1 } }
CONFIG
run_all() { # SERVICE COMMAND: until the command has written $dir/trace
  local command
  record "$2" "$dir/config" "$dir/trace" "$dir/log" &
  command=$!
  until "$BIN/sonda" sessions 2>/dev/null | grep -q STARTED; do kill -0 $command || return 1; sleep 0.05; done
  "$dir/thread_pool" && "$dir/server" && "$dir/counters" && "$dir/sqlite" "$dir/$1.$2.db" <"$dir/statements.sql" >"$dir/rows"
  "$BIN/sonda" trigger sonda.test.examples.end
  wait $command
}
for service in sonda perfetto; do
  start_service $service "$dir"
  for command in sonda perfetto; do
    run_all $service $command >"$dir/said" 2>&1
    verdict "service=$service: $command records all examples" $? "$dir/log" "$dir/said"
    check_answer "service=$service: $command has their slices, flows, counters, statements and files, and no error" "$dir/trace" "select
      (select count() from slice where name = 'job' and dur > 0) as jobs, (select count() from flow f join slice o on slice_out = o.id
        join slice i on slice_in = i.id where o.name = 'queue' and i.name = 'job') as flows,
      (select count() from slice where name = 'request' and dur > 0) as requests, (select count() from counter c
        join counter_track t on c.track_id = t.id where t.name in ('heap', 'load', 'bytes handled')) as samples,
      (select count() from slice where name = 'statement' and dur > 0 and extract_arg(arg_set_id, 'debug.sql') is not null
        and extract_arg(arg_set_id, 'debug.vm_steps') > 0) as statements,
      (select count() > 0 from slice where name = 'write' and category = 'sqlite.files') as files,
      (select count() from stats where severity in ('error', 'data_loss') and value > 0) as bad" \
      '[{"jobs":40,"flows":40,"requests":20,"samples":150,"statements":5,"files":1,"bad":0}]'
  done
  stop_all
done
exit $BAD
