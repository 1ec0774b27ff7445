/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * An example of a program of your own (docs/ebpf-programs.md): which commands end, and how long they
 * lived.
 *
 *	eBPF counters
 *	  exits
 *	    commands
 *	      sh
 *	        exits       how many processes of that name have ended
 *	        lifetime    how long they lived, in sum
 *	    failed          processes that ended with an error, or by a signal
 *	    lost            those that the map of commands had no room for
 */
#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include <sonda_program.h>

char LICENSE[] SEC("license") = "GPL";

/* The fields that we read; where they are comes from the running kernel. */
struct task_struct {
	int pid, tgid;
	int exit_code;
	__u64 start_boottime; /* ns */
} __attribute__((preserve_access_index));

/* A map sonda_counter_X is the track X; of a hash, or an array of several elements, a group X. Keys
 * and values are integers, structs of integers, and texts in keys. */
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

static void add_one(void *map)
{
	__u32 zero = 0;
	__u64 *n = bpf_map_lookup_elem(map, &zero);

	if (n)
		++*n;
}

static struct ends *ends_of(const struct command *c)
{
	struct ends *e = bpf_map_lookup_elem(&sonda_counter_commands, c);
	const struct ends none = {};

	if (e)
		return e;
	bpf_map_update_elem(&sonda_counter_commands, c, &none, BPF_NOEXIST);
	return bpf_map_lookup_elem(&sonda_counter_commands, c);
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
	e = ends_of(&c);
	if (!e) {
		add_one(&sonda_counter_lost);
		return 0;
	}
	/* Other CPUs may add to the same element. */
	__sync_fetch_and_add(&e->exits, 1);
	__sync_fetch_and_add(&e->lifetime, now - t->start_boottime);
	return 0;
}
