#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kernels: newest
#
# A program of one's own, as docs/reference/ebpf-programs.md has it, on kernels of other people: the example is where sonda-probes looks,
# and its counters and its ring of events are what ended in the recording.
. "$(dirname "$0")/../lib.sh"

[ -e /sys/kernel/btf/vmlinux ] || { echo "the kernel has no BTF" >&2; exit 77; }
[ -e "$B/gen/bpf/examples/exits.bpf.o" ] || { echo "this build has no eBPF counters" >&2; exit 77; }
mkdir -p /etc/sonda/bpf.d && cp "$B/gen/bpf/examples/exits.bpf.o" /etc/sonda/bpf.d/exits.bpf.o
chmod 755 /etc/sonda /etc/sonda/bpf.d && chmod 644 /etc/sonda/bpf.d/exits.bpf.o

# Names that no other process has: 6 that end well, 2 that fail.
cp "$(type -P cat)" "$TMP/sondatrue" && cp "$(type -P cat)" "$TMP/sondafalse"
sed '/^duration_ms/d' configs/ebpf-program.cfg >"$TMP/config"
"$BIN/sonda" record -c "$TMP/config" -o "$OUT/ebpf_programs.pftrace" -- sh -c "for i in 1 2; do
    '$TMP/sondatrue' /dev/null; '$TMP/sondatrue' /dev/null; '$TMP/sondafalse' /none; '$TMP/sondatrue' /dev/null
  done 2>/dev/null; exit 0" >"$TMP/log" 2>&1
verdict "recorded" $? "$TMP/log"
! grep -E 'exits(:| \()|exits\.bpf\.o' "$TMP/log" >"$TMP/problems"
verdict "it is loaded and attached, and all of its maps can be used" $? "$TMP/problems"

ended() { # COMMAND TRACK
  printf '%s' "(select max(c.value) from counter c join track t on t.id = c.track_id join track g on g.id = t.parent_id
    join track m on m.id = g.parent_id where m.name = 'commands' and g.name = '$1' and t.name = '$2')"
}
is_true ebpf_programs "a hash by name: how many ended" "select $(ended sondatrue exits) = 6 and $(ended sondafalse exits) = 2"
is_true ebpf_programs "and how long they lived" "select $(ended sondatrue lifetime) > 6000"
is_true ebpf_programs "their units" "select count(*) = 2 from counter_track k join track t using (id) join track g on g.id = t.parent_id
  where g.name = 'sondatrue' and t.name || ' ' || k.unit in ('exits count', 'lifetime ns')"
is_true ebpf_programs "values of CPUs are added up" "select max(value) >= 2 from counter c join track t on t.id = c.track_id
  where t.name = 'failed'"
is_true ebpf_programs "its ring of events: a slice for each life" "select count(*) = 8 and sum(s.dur > 0) = 8 and
    sum(extract_arg(s.arg_set_id, 'debug.exit code')) = 2 from slice s join thread_track t on t.id = s.track_id
  where t.name = 'exits' and s.name in ('sondatrue', 'sondafalse')"
is_true ebpf_programs "the sum of these is what the counter says" "select sum(s.dur) = $(ended sondatrue lifetime) from slice s
  where s.name = 'sondatrue'"
is_true ebpf_programs "nothing is lost or left out" "select sum(c.value) = 0 and count(distinct t.name) = 1 from counter c
  join track t on t.id = c.track_id where t.name in ('lost', 'events left out', 'bad events', 'elements left out')"
exit $BAD
