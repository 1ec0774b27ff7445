/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * Rows of threads and their control groups of version 2.
 *
 *	task_newtask         a new thread, also by CLONE_INTO_CGROUP (no cgroup_attach_task)
 *	cgroup_attach_task   a thread, or all threads of a process, were moved
 *	sched_process_exec   the thread may have a new tid; and a lost row is corrected
 *	cgroup_mkdir, _rmdir groups, with the path, so that a short-lived one has a name
 *
 * The end of a thread needs no row: no thread has its tid until a new one gets it. The reader reads
 * periodically. Only a new group wakes it: the files that have the name of a short-lived container
 * are removed with it. The programs keep no state. Rows that find no room are counted.
 */
#include "common.h"

#include "group_record.h"

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, MEMBERS_RING);
} members SEC(".maps");

static __always_inline void send_record(void *record, __u64 size, __u64 wakeup)
{
	if (bpf_ringbuf_output(&members, record, size, wakeup) != 0)
		count_lost();
}

static __always_inline int send_row(__u32 tgid, __u32 tid, __u64 group)
{
	struct member_row r = {
		.type = MEMBER_ROW,
		.tgid = tgid,
		.time = bpf_ktime_get_boot_ns(),
		.group = group,
		.tid = tid,
	};

	send_record(&r, sizeof(r), BPF_RB_NO_WAKEUP);
	return 0;
}

SEC("tp_btf/task_newtask")
int BPF_PROG(on_new_task, struct task_struct *t)
{
	return send_row(t->tgid, t->pid, t->cgroups->dfl_cgrp->kn->id);
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *t)
{
	return send_row(t->tgid, t->pid, t->cgroups->dfl_cgrp->kn->id);
}

SEC("tp_btf/cgroup_attach_task")
int BPF_PROG(on_attach, struct cgroup *to, const char *path, struct task_struct *t,
	     bool threadgroup)
{
	if (!is_version_2(to))
		return 0;
	return send_row(t->tgid, threadgroup ? 0 : t->pid, to->kn->id);
}

SEC("tp_btf/cgroup_mkdir")
int BPF_PROG(on_mkdir, struct cgroup *c, const char *path)
{
	struct member_group *g = group_record_begin(c, MEMBER_GROUP);

	if (g)
		send_record(g, group_record_add_path(g, c, path), BPF_RB_FORCE_WAKEUP);
	return 0;
}

SEC("tp_btf/cgroup_rmdir")
int BPF_PROG(on_rmdir, struct cgroup *c, const char *path)
{
	struct member_group *g = group_record_begin(c, MEMBER_GROUP_END);

	if (g)
		send_record(g, offsetof(struct member_group, path), BPF_RB_NO_WAKEUP);
	return 0;
}

SEC("iter/task")
int each_member(struct bpf_iter__task *ctx)
{
	struct task_struct *t = ctx->task;
	struct member_row r = {.type = MEMBER_ROW};

	if (!t)
		return 0;
	r.tgid = t->tgid;
	r.tid = t->pid;
	r.time = bpf_ktime_get_boot_ns();
	r.group = t->cgroups->dfl_cgrp->kn->id;
	bpf_seq_write(ctx->meta->seq, &r, sizeof(r));
	return 0;
}
