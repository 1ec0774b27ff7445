#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tracefs: shared
#
# Programs of people's own in linux.ebpf_counters, on the real kernel: the example of bpf/examples counts commands that
# end, a program with a map of each kind has the tracks that it should, and what cannot be loaded is reported, while others run.
. "$(dirname "$0")/lib.sh"
need_tracefs
[ -e /sys/kernel/btf/vmlinux ] || { echo "the kernel has no BTF" >&2; exit 77; }
example=$B/gen/bpf/examples/exits.bpf.o
[ -e "$example" ] || { echo "this build has no eBPF counters" >&2; exit 77; }

chmod 755 "$TMP"
dir=$TMP/bpf.d
mkdir "$dir"
cp "$example" "$dir/exits.bpf.o"
# Compiles a program from stdin, as docs/reference/ebpf-programs.md has it.
compile() { # NAME
  { printf '%s\n' '#include <linux/bpf.h>' '#include <bpf/bpf_helpers.h>' '#include <sonda_program.h>' \
      'char LICENSE[] SEC("license") = "GPL";'; cat; } >"$TMP/$1.bpf.c"
  "${CLANG:-clang}" -target bpf -O2 -g -Ibpf -I"/usr/include/$(gcc -print-multiarch)" -c -o "$dir/$1.bpf.o" "$TMP/$1.bpf.c"
}
map() { # NAME TYPE ENTRIES KEY VALUE [TAG]
  echo "struct { __uint(type, BPF_MAP_TYPE_$2); __uint(max_entries, $3); __type(key, $4); __type(value, $5); }" \
    "sonda_counter_$1 SEC(\".maps\") ${6:-};"
}
# A map of each kind, whose values a program sets at each fork: all the same each time, so the trace says exactly these.
compile kinds <<END
struct pair { __s32 low SONDA_GAUGE; __u32 spare; __u64 time SONDA_UNIT(ns); };
struct place { __u32 row, column; };
$(map one ARRAY 1 __u32 __u64 'SONDA_UNIT(bytes)')
$(map each_cpu PERCPU_ARRAY 1 __u32 __u32)
$(map array ARRAY 4 __u32 __u64)
$(map hash HASH 8 'struct place' 'struct pair')
$(map many HASH 1000 __u32 __u64)
SEC("tp/sched/sched_process_fork") int on_fork(void *ctx)
{
	struct place at = {3, 4};
	struct pair v = {-7, 0, 1500};
	__u64 big = 1ull << 40;
	__u32 i = 0, n = 21;

	bpf_map_update_elem(&sonda_counter_one, &i, &big, 0);
	bpf_map_update_elem(&sonda_counter_each_cpu, &i, &n, 0);
	for (int k = 0; k < 300; k++) {
		i = k;
		bpf_map_update_elem(&sonda_counter_many, &i, &big, 0);
	}
	i = 2;
	bpf_map_update_elem(&sonda_counter_array, &i, &big, 0);
	bpf_map_update_elem(&sonda_counter_hash, &at, &v, 0);
	return 0;
}
END
# One that the verifier refuses, one without types, one without counters, one with a map that is none.
compile refused <<END
$(map one ARRAY 1 __u32 __u64)
SEC("tp/sched/sched_process_fork") int on_fork(void *ctx) { return *(volatile int *)0; }
END
"${CLANG:-clang}" -target bpf -O2 -Ibpf -I"/usr/include/$(gcc -print-multiarch)" -c -o "$dir/untyped.bpf.o" "$TMP/kinds.bpf.c"
# At each fork one instant, six slices that lie across each other, and one event that is none.
compile events <<'END'
struct { __uint(type, BPF_MAP_TYPE_RINGBUF); __uint(max_entries, 65536); } sonda_events SEC(".maps");
SEC("tp/sched/sched_process_fork") int on_fork(void *ctx)
{
	__u64 now = bpf_ktime_get_boot_ns();

	for (int i = 0; i < 8; i++) {
		struct sonda_event *e = bpf_ringbuf_reserve(&sonda_events, sizeof(*e), 0);

		if (!e)
			return 0;
		__builtin_memset(e, 0, sizeof(*e));
		e->type = i == 7 ? 99 : i ? SONDA_SLICE : SONDA_INSTANT;
		e->time = now - 6000 + 1000 * i;
		e->duration = i ? 6000 : 0;
		__builtin_memcpy(e->name, i ? "piece" : "moment", 6);
		if (!i) {
			e->n_values = 1;
			__builtin_memcpy(e->values[0].name, "exit code", 10);
			e->values[0].value = 12;
		}
		bpf_ringbuf_submit(e, 0);
	}
	return 0;
}
END
# At each fork it reads what is not there, and at that fault again: the kernel leaves the run out in which it is already.
compile nested <<END
$(map faults ARRAY 1 __u32 __u64)
static void fault(void)
{
	__u32 zero = 0;
	__u64 x, *n = bpf_map_lookup_elem(&sonda_counter_faults, &zero);

	if (n)
		__sync_fetch_and_add(n, bpf_probe_read_user(&x, sizeof(x), (void *)8) != 0);
}
SEC("raw_tp/sched_process_fork") int on_fork(void *ctx) { fault(); return 0; }
SEC("raw_tp/page_fault_kernel") int on_fault(void *ctx) { fault(); return 0; }
END
compile empty <<'END'
SEC("tp/sched/sched_process_fork") int on_fork(void *ctx) { return 0; }
END
compile partly <<END
$(map good ARRAY 1 __u32 __u64)
$(map bad ARRAY 1 __u32 'void *')
$(map stack STACK 1 __u32 __u64 | sed 's/__type(key, __u32);//')
SEC("tp/sched/sched_process_fork") int on_fork(void *ctx)
{
	__u32 i = 0;
	__u64 v = 5;

	bpf_map_update_elem(&sonda_counter_good, &i, &v, 0);
	return 0;
}
END
compile pinned <<END
struct { __uint(type, BPF_MAP_TYPE_ARRAY); __uint(max_entries, 1); __type(key, __u32); __type(value, __u64);
  __uint(pinning, LIBBPF_PIN_BY_NAME); } sonda_counter_pinned SEC(".maps");
SEC("tp/sched/sched_process_fork") int on_fork(void *ctx) { __u32 i = 0; return !bpf_map_lookup_elem(&sonda_counter_pinned, &i); }
END
echo 'no object' >"$dir/text.bpf.o"
cp "$example" "$dir/open.bpf.o" && chmod 666 "$dir/open.bpf.o"

use_sockets "$TMP"
start_service sonda "$TMP" || exit 1
start_daemon TRACED_PROBES_NOTIFY_FD "$TMP/probes.log" "$BIN/sonda-probes" --bpf-dir "$dir" || exit 1
programs=$(for p in refused untyped empty text open none exits kinds partly events nested pinned; do echo "programs: '$p'"; done)
sed '/^duration_ms/d; s/programs: "exits"/period_ms: 50 '"${programs//$'\n'/ }/" configs/ebpf-program.cfg >"$TMP/config"
# 20 processes with a name that no other process has, 5 of which fail.
cp /bin/true "$TMP/sondatrue" && cp /bin/false "$TMP/sondafalse"
timeout 60 "$BIN/sonda" record -c "$TMP/config" -o "$TMP/trace" -- \
  sh -c "for i in 1 2 3 4 5; do $TMP/sondatrue; $TMP/sondatrue; $TMP/sondatrue; $TMP/sondafalse; done; exit 0" >"$TMP/log" 2>&1
verdict "recorded" $? "$TMP/log"
query "$TMP/trace" "select 'stats ' || name || ' ' || value as x from stats where severity in ('error', 'data_loss') and value > 0" \
  "select p.name || '/' || coalesce(g.name, '') || '/' || t.name || '=' || max(c.value) || ' ' || coalesce(k.unit, '-') as x
    from counter c join counter_track k on k.id = c.track_id join track t on t.id = k.id
    left join track g on g.id = t.parent_id left join track p on p.id = g.parent_id group by t.id" >"$TMP/rows"
tr '{' '\n' <"$TMP/rows" | sed -n 's/.*"x":"\([^"]*\)".*/\1/p' | sort >"$TMP/tracks"
! grep '^stats' "$TMP/tracks" >"$TMP/stats"
verdict "nothing lost, nothing wrong" $? "$TMP/stats"

grep -q '^commands/sondatrue/exits=15.0 count$' "$TMP/tracks" && grep -q '^commands/sondafalse/exits=5.0 count$' "$TMP/tracks" &&
  grep -q '^commands/sondatrue/lifetime=[1-9][0-9]*.0 ns$' "$TMP/tracks" && grep -q '/exits/failed=\([5-9]\|[1-9][0-9]\+\)\.0 count$' "$TMP/tracks"
verdict "the example counts commands, their lives and failures" $? "$TMP/tracks"

query "$TMP/trace" "select s.name || ' ' || t.name || ' ' || coalesce(extract_arg(s.arg_set_id, 'debug.exit code'), '-') ||
  ' ' || (s.dur > 0) || ' ' || count(*) as x from slice s join track t on t.id = s.track_id
  where s.name like 'sonda%' or s.name = 'moment' or s.name = 'piece' group by s.name, t.name, s.dur > 0" >"$TMP/rows"
tr '{' '\n' <"$TMP/rows" | sed -n 's/.*"x":"\([^"]*\)".*/\1/p' | sort >"$TMP/slices"
printf '%s\n' 'sondafalse exits 1 1 5' 'sondatrue exits 0 1 15' | diff <(grep -E '^sonda(true|false) ' "$TMP/slices") - >"$TMP/diff"
verdict "its ring of events becomes slices of threads" $? <(cat "$TMP/diff" "$TMP/slices")
# At a fork pieces 1 to 6 begin one after another before the first one ends: 4 lie side by side.
printf 'piece events%s - 1 \n' '' ' 2' ' 3' ' 4' | diff <(grep '^piece' "$TMP/slices" | sed 's/[0-9]*$//') - >"$TMP/diff"
verdict "slices that lie across each other have lanes" $? <(cat "$TMP/diff" "$TMP/slices")
# One of each a fork, of which others on the machine may add some.
at_least_20='([2-9][0-9]|[1-9][0-9]{2,})'
grep -qE "^moment events 12 0 $at_least_20\$" "$TMP/slices" &&
  grep -qE "^eBPF counters/events/bad events=$at_least_20\.0 count\$" "$TMP/tracks"
verdict "instants without a thread; events that are none are counted" $? <(cat "$TMP/slices" "$TMP/tracks")

for want in 'eBPF counters/kinds/one=1099511627776.0 bytes' 'kinds/array/2=1099511627776.0 -' \
  'hash/row 3, column 4/low=-7.0 -' 'hash/row 3, column 4/time=1500.0 ns' 'hash/row 3, column 4/spare=0.0 -' \
  'eBPF counters/kinds/elements left out=44.0 count'; do
  grep -qFx "$want" "$TMP/tracks" || echo "missing: $want"
done >"$TMP/missing"
# Which of many have a track is the hash's choice.
[ ! -s "$TMP/missing" ] && [ "$(grep -c '^kinds/many/[0-9]*=1099511627776.0 -$' "$TMP/tracks")" = 256 ]
verdict "maps of each kind have their tracks, units and limits" $? <(cat "$TMP/missing" "$TMP/tracks")
[ "$(grep -c '^kinds/array/' "$TMP/tracks")" = 1 ] && grep -qE '^eBPF counters/kinds/each_cpu=(21|42|63|84).0 -$' "$TMP/tracks"
verdict "elements that are 0 have no track; values of CPUs are added up" $? "$TMP/tracks"

while read -r name words; do
  grep -q "linux.ebpf_counters: $name: .*$words" "$TMP/probes.log" && grep -q "eBPF counters: $name: .*$words" "$TMP/log" ||
    echo "$name: nothing about: $words"
done >"$TMP/untold" <<'END'
refused refused.bpf.o could not be loaded: Permission denied: .*invalid mem access
untyped untyped.bpf.o could not be .*BTF is required
empty empty.bpf.o has no usable map "sonda_counter_..." and no ring buffer
text text.bpf.o could not be read: .*not a proper ELF object
open open.bpf.o is writable by users other than its owner
none none.bpf.o: No such file
kinds sonda_counter_many has more than 256 elements
events some events of sonda_events are not a struct sonda_event
events more than 1000 events per second, or more than 4 at a time from one thread
pinned pinned.bpf.o: map .sonda_counter_pinned. would be pinned and outlive the recording
partly sonda_counter_bad is skipped: its value is neither an integer
partly sonda_counter_stack is skipped: is neither an array map nor a hash map
END
[ ! -s "$TMP/untold" ]
verdict "what cannot be loaded or counted is reported in one sentence" $? <(cat "$TMP/untold" "$TMP/probes.log" "$TMP/log")
[ ! -e /sys/fs/bpf/sonda_counter_pinned ]
verdict "nothing is pinned" $?
grep -q '/partly/good=5.0 -$' "$TMP/tracks"
verdict "the other maps of such a program are counted" $? "$TMP/tracks"
if [ -e /sys/kernel/tracing/events/exceptions/page_fault_kernel ]; then
  grep -qE '^eBPF counters/runs missed/nested=([2-9][0-9]|[0-9]{3,}).0 count$' "$TMP/tracks" &&
    grep -qE ' nested: [0-9,]+ program runs that the kernel skipped' "$TMP/log"
  verdict "runs that the kernel left out are counted and reported" $? <(grep nested "$TMP/tracks" "$TMP/log")
fi
stop_all
echo "1..$N"
exit $BAD
