/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * An iterator over all threads, which the reader runs once a period: one read instead of several
 * files of /proc for each process. It iterates over the pid namespace of its reader.
 *
 * The kernel keeps the resident pages of a process in parts, one for each CPU, and adds a part to
 * the sum when it is large. The sum that is read here lacks these parts; a change shows that the
 * memory changed.
 */
#include "common.h"

#include "processes.h"

/* Returns a counter of pages, at least 0. Before 6.2 the verifier does not follow an array of
 * atomic_long_t, so a helper reads the counter. */
static __always_inline __u64 read_pages(const void *counter)
{
	long n = 0;

	bpf_probe_read_kernel(&n, sizeof(n), counter);
	return n > 0 ? n : 0;
}

static __always_inline __u64 count_resident_pages(struct mm_struct *mm)
{
	struct mm_struct___before_6_2 *old = (void *)mm;

	if (bpf_core_field_exists(old->rss_stat.count))
		return read_pages(&old->rss_stat.count[0].counter) +
		       read_pages(&old->rss_stat.count[1].counter) +
		       read_pages(&old->rss_stat.count[3].counter);
	return read_pages(&mm->rss_stat[0].count) + read_pages(&mm->rss_stat[1].count) +
	       read_pages(&mm->rss_stat[3].count);
}

SEC("iter/task")
int each_thread(struct bpf_iter__task *ctx)
{
	struct task_struct *t = ctx->task;
	struct processes_thread v = {};

	/* Without a scope this includes sonda-probes itself. */
	if (!t || (settings.scope != SONDA_SCOPE_ALL && !is_counted(t->tgid, t)))
		return 0;
	v.pid = t->tgid;
	v.tid = t->pid;
	v.start_ns = t->start_boottime;
	v.ran_ns = t->se.sum_exec_runtime;
	v.read_bytes = t->ioac.read_bytes;
	v.write_bytes = t->ioac.write_bytes;
	if (t->pid == t->tgid) {
		struct signal_struct *s = t->signal;

		if (!(settings.switches & SONDA_BY_THREAD)) {
			v.ran_ns += s->sum_sched_runtime;
			v.read_bytes += s->ioac.read_bytes;
			v.write_bytes += s->ioac.write_bytes;
		}
		v.is_kthread = !!(t->flags & PF_KTHREAD);
		if (t->mm && !v.is_kthread)
			v.memory = count_resident_pages(t->mm) + 1;
		v.parent_pid = t->real_parent->tgid;
	}
	if (t->pid == t->tgid || settings.switches & SONDA_BY_THREAD)
		bpf_probe_read_kernel(v.comm, sizeof(v.comm), t->comm);
	bpf_seq_write(ctx->meta->seq, &v, sizeof(v));
	return 0;
}
