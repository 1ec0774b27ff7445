/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * An example of a program of your own (docs/reference/ebpf-programs.md): which commands end, and how long
 * they lived.
 *
 *	eBPF counters
 *	  exits
 *	    commands
 *	      sh
 *	        exits       how many processes of that name have ended
 *	        lifetime    how long they lived, in total
 *	    failed          processes that ended with an error, or by a signal
 *	    lost            ends that a map or the ring had no room for
 *	Thread 4711
 *	  exits             a slice with the command's name, for as long as it lived; the value
 *	                    "exit code"
 */
#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include <sonda_program.h>

char LICENSE[] SEC("license") = "GPL";

/* The fields that we read; the loader takes their offsets from the running kernel. */
struct task_struct {
	int pid, tgid;
	int exit_code;
	__u64 start_boottime; /* ns */
} __attribute__((preserve_access_index));

/* A map named sonda_counter_X becomes the track X. A hash, or an array with several elements,
 * becomes a group X with a track for each key. Keys and values are integers or structs of integers;
 * keys may also contain text. */
struct command {
	char comm[16];
};

struct ends {
	__u64 exits SONDA_UNIT(count);
	__u64 lifetime SONDA_UNIT(ns);
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, struct command);
	__type(value, struct ends);
} sonda_counter_commands SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} sonda_counter_failed SEC(".maps") SONDA_UNIT(count);

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} sonda_counter_lost SEC(".maps") SONDA_UNIT(count);

/* The records in this ring become slices and instants. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 256 * 1024); /* bytes: room for what happens in a period */
} sonda_events SEC(".maps");

static void add_one(void *map)
{
	__u32 zero = 0;
	__u64 *n = bpf_map_lookup_elem(map, &zero);

	if (n)
		++*n;
}

static struct ends *find_or_add_ends(const struct command *c)
{
	struct ends *e = bpf_map_lookup_elem(&sonda_counter_commands, c);
	const struct ends none = {};

	if (e)
		return e;
	bpf_map_update_elem(&sonda_counter_commands, c, &none, BPF_NOEXIST);
	return bpf_map_lookup_elem(&sonda_counter_commands, c);
}

static void send_lifetime(struct task_struct *t, const struct command *c, __u64 now)
{
	struct sonda_event *e = bpf_ringbuf_reserve(&sonda_events, sizeof(*e), 0);

	if (!e) {
		add_one(&sonda_counter_lost);
		return;
	}
	__builtin_memset(e, 0, sizeof(*e));
	e->type = SONDA_SLICE;
	e->tid = t->pid;
	e->tgid = t->tgid;
	e->time = t->start_boottime;
	e->duration = now - t->start_boottime;
	__builtin_memcpy(e->name, c->comm, sizeof(c->comm));
	e->n_values = 1;
	__builtin_memcpy(e->values[0].name, "exit code", sizeof("exit code"));
	e->values[0].value = t->exit_code >> 8 & 0xff;
	bpf_ringbuf_submit(e, 0);
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *t)
{
	__u64 now = bpf_ktime_get_boot_ns();
	struct command c = {};
	struct ends *e;

	if (t->pid != t->tgid)
		return 0; /* a thread */
	if (t->exit_code)
		add_one(&sonda_counter_failed);
	bpf_get_current_comm(c.comm, sizeof(c.comm));
	send_lifetime(t, &c, now);
	e = find_or_add_ends(&c);
	if (!e) {
		add_one(&sonda_counter_lost);
		return 0;
	}
	/* Other CPUs may add to the same element. */
	__sync_fetch_and_add(&e->exits, 1);
	__sync_fetch_and_add(&e->lifetime, now - t->start_boottime);
	return 0;
}
