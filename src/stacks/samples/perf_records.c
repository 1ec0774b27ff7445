/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/system/log.h"
#include "base/system/outside_reads.h"
#include "bpf/unwind.h"
#include "stacks/frames/mapping_records.h"
#include "stacks/samples/perf_session.h"
#include "stacks/unwind/unwind_follow.h"

/* Profiling.CpuMode */
enum { MODE_UNKNOWN, MODE_KERNEL, MODE_USER, MODE_HYPERVISOR, MODE_GUEST_KERNEL, MODE_GUEST_USER };

struct sample_record {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t time;
	uint32_t cpu, unused;
	/* With followers the number of counts; then each count, and after it the number of lost
	 * records if the ring counts them; then, with CALLCHAIN, n and n addresses. */
	uint64_t rest[];
};

/* ---- processes ---- */

/* Returns true if the program is one of the first that were sampled in addition to those of the
 * scope, up to the number that the config allows; adds it if there is room. cmdline begins with the
 * program. */
static bool admit_additional(struct perf_session *s, const char *cmdline)
{
	char *copy;

	for (size_t i = 0; i < s->n_additional; i++)
		if (!strcmp(s->additional[i], cmdline))
			return true;
	if (s->n_additional == s->perf.n_additional)
		return false;
	if (!s->additional)
		s->additional = calloc(s->perf.n_additional, sizeof(*s->additional));
	copy = s->additional ? strdup(cmdline) : NULL;
	if (copy)
		s->additional[s->n_additional++] = copy;
	return copy;
}

bool perf_records_admit_process(struct perf_session *s, struct address_space *a)
{
	static char cmdline[4096];
	enum perf_scope scope;
	char path[64];
	ssize_t n = 0;

	if (a->is_checked)
		return a->is_wanted;
	if (perf_config_needs_cmdline(&s->perf)) {
		snprintf(path, sizeof(path), "%s/%d/cmdline", s->base.proc_root, a->pid);
		n = outside_read(path, cmdline, sizeof(cmdline) - 1, OUTSIDE_READ_LONG_MS);
	}
	cmdline[n > 0 ? n : 0] = '\0';
	scope = perf_config_find_scope(&s->perf, a->pid, cmdline);
	a->is_wanted =
		scope == PERF_WANTED || (scope == PERF_ADDITIONAL && admit_additional(s, cmdline));
	if (*s->by_proc.text)
		a->is_wanted =
			a->is_wanted && subject_has_process(&s->subject, s->config->subject_config,
							    s->base.proc_root, a->pid);
	a->is_checked = n != -EAGAIN;
	return a->is_wanted;
}

/* ---- samples ---- */

static bool has_user_frames(const uint64_t *addresses, size_t n)
{
	for (size_t i = 0; i + 1 < n; i++)
		if (addresses[i] == (uint64_t)PERF_CONTEXT_USER)
			return true;
	return false;
}

/* Adds the stack of a sample. chain: n and its addresses, of which the record has `room` at most.
 * Returns the number of the stack + 1; 0: none. A walk by frame pointers has the error that
 * indicates this if the config requests another kind. */
static uint32_t add_sample_stack(struct perf_session *s, const uint64_t *chain, size_t room,
				 struct address_space *a, uint8_t *ret_error)
{
	size_t n = MIN((size_t)chain[0], room);
	struct stack_walk w = {.n = 0};

	stack_walk_add_chain(&w, &s->base.resolver, a, chain + 1, n);
	*ret_error = w.error;
	if (!w.error && *s->by_frame_pointers.text && has_user_frames(chain + 1, n))
		*ret_error = UNWIND_NO_ROWS;
	return stack_walk_end(&w, &s->base.resolver);
}

/* Adds the stack of a sample that the BPF program took. Returns the number of the stack + 1, or
 * 0. */
static uint32_t add_program_stack(struct perf_session *s, const struct stack_sample *from,
				  struct address_space *a, uint8_t *ret_error)
{
	const uint64_t *addresses = (const uint64_t *)from->addresses;
	struct stack_walk w = {.n = 0};

	stack_walk_add_kernel_stack(&w, &s->base.resolver, addresses, from->n_kernel);
	stack_walk_add_user_stack(&w, &s->base.resolver, a, addresses + from->n_kernel,
				  from->n_user);
	*ret_error = w.error						   ? w.error
		     : from->is_by_kernel || from->error == UNWIND_NO_FILE ? (uint8_t)UNWIND_NO_ROWS
									   : from->error;
	return stack_walk_end(&w, &s->base.resolver);
}

static uint8_t cpu_mode_from_misc(uint16_t misc)
{
	switch (misc & PERF_RECORD_MISC_CPUMODE_MASK) {
	case PERF_RECORD_MISC_KERNEL:
		return MODE_KERNEL;
	case PERF_RECORD_MISC_USER:
		return MODE_USER;
	case PERF_RECORD_MISC_HYPERVISOR:
		return MODE_HYPERVISOR;
	case PERF_RECORD_MISC_GUEST_KERNEL:
		return MODE_GUEST_KERNEL;
	case PERF_RECORD_MISC_GUEST_USER:
		return MODE_GUEST_USER;
	default:
		return MODE_UNKNOWN;
	}
}

/* Begins a sample of the process, which add_sample() completes. Returns 0; -EAGAIN if it has to
 * wait for an answer; -ENOENT if the process is not sampled, or there is no memory, which is
 * counted. */
static int begin_sample(struct perf_session *s, const struct perf_sample *sample,
			struct address_space **ret)
{
	struct address_space *a =
		address_spaces_get(&s->base.resolver.spaces, (int32_t)sample->pid);

	if (!a ||
	    array_reserve(&s->samples, &s->cap_samples, s->n_samples + 1, sizeof(*sample)) < 0 ||
	    array_reserve(&s->follower_counts, &s->cap_follower_counts,
			  (s->n_samples + 1) * s->perf.n_followers,
			  sizeof(*s->follower_counts)) < 0) {
		perf_packets_write_lost(s, sample->cpu, 1);
		return -ENOENT;
	}
	if (!perf_records_admit_process(s, a))
		return -ENOENT;
	if (sample->pid && !stack_resolver_ensure_maps(&s->base.resolver, a, sample->tid))
		return -EAGAIN;
	*ret = a;
	return 0;
}

static void add_sample(struct perf_session *s, const struct perf_sample *sample,
		       const uint64_t *follower_counts)
{
	if (s->perf.n_followers)
		memcpy(s->follower_counts + s->n_samples * s->perf.n_followers, follower_counts,
		       s->perf.n_followers * sizeof(*follower_counts));
	s->samples[s->n_samples++] = *sample;
}

/* Reads the counter values of a record; the value of the event comes first. n: the words left in
 * the record. Returns how many words the values take; 0 if the record is too short. */
static size_t read_counter_values(const struct perf_session *s, const struct cpu_ring *ring,
				  const uint64_t *words, size_t n, uint64_t *ret_counts)
{
	size_t of_each = ring->counts_lost ? 2 : 1, n_counts = 1 + s->perf.n_followers;
	size_t at = ring->is_group ? 1 : 0;

	if (n < at + n_counts * of_each || (ring->is_group && words[0] != n_counts))
		return 0;
	for (size_t i = 0; i < n_counts; i++, at += of_each)
		ret_counts[i] = words[at];
	return at;
}

/* Returns false if the record has to wait for an answer. */
static bool handle_sample(struct perf_session *s, const struct cpu_ring *ring,
			  const struct sample_record *r)
{
	size_t n = (MAX(r->header.size, offsetof(struct sample_record, rest)) -
		    offsetof(struct sample_record, rest)) /
		   sizeof(*r->rest);
	uint64_t counts[1 + SAMPLES_FOLLOWERS_MAX];
	size_t used = read_counter_values(s, ring, r->rest, n, counts);
	struct perf_sample sample;
	struct address_space *a;
	int error;

	if (!used || (s->perf.has_stacks && used == n))
		return true;
	sample = (struct perf_sample){.time = r->time,
				      .count = counts[0],
				      .cpu = r->cpu,
				      .pid = r->pid,
				      .tid = r->tid,
				      .mode = cpu_mode_from_misc(r->header.misc)};
	error = begin_sample(s, &sample, &a);
	if (error < 0)
		return error != -EAGAIN;
	if (s->perf.has_stacks)
		sample.stack =
			add_sample_stack(s, r->rest + used, n - used - 1, a, &sample.unwind_error);
	add_sample(s, &sample, counts + 1);
	return true;
}

/* Adds a sample that the BPF program took. Returns false if it has to wait for an answer. */
static bool handle_program_sample(struct perf_session *s, const struct stack_sample *from)
{
	struct perf_sample sample = {.time = from->time,
				     .count = from->count,
				     .cpu = from->cpu,
				     .pid = from->pid,
				     .tid = from->tid,
				     .mode = from->is_user ? MODE_USER : MODE_KERNEL};
	struct address_space *a;
	int error = begin_sample(s, &sample, &a);

	if (error < 0)
		return error != -EAGAIN;
	if (from->error == UNWIND_NO_FILE)
		unwind_request_files_of_stack(a, &s->base.resolver.files,
					      (const uint64_t *)from->addresses + from->n_kernel,
					      from->n_user, from->time);
	sample.stack = add_program_stack(s, from, a, &sample.unwind_error);
	add_sample(s, &sample, (const uint64_t *)from->followers);
	return true;
}

/* ---- other records ---- */

/* Requests unwind rows for a file that a sampled process maps. Which programs are sampled in
 * addition to those of the scope is not known before their samples; then for all files. */
static void request_rows_of_record(struct perf_session *s, const struct perf_event_header *h)
{
	struct file_mapping m;
	struct address_space *a;
	int32_t pid;

	if (!s->program || !mapping_records_mmap_path(h, &pid, &m))
		return;
	a = s->perf.n_additional ? NULL : address_spaces_get(&s->base.resolver.spaces, pid);
	if (!a || perf_records_admit_process(s, a))
		unwind_follow_record(h);
}

static void handle_comm(struct perf_session *s, uint64_t time, const struct perf_event_header *h)
{
	const struct comm_record *r = (const struct comm_record *)h;

	perf_tasks_add_renamed(s, time, (int32_t)r->tid, r->name,
			       h->size - sizeof(*r) - MAPPING_RECORD_END,
			       h->misc & PERF_RECORD_MISC_COMM_EXEC);
}

static void handle_lost(struct perf_session *s, struct cpu_ring *ring, uint64_t lost)
{
	ring->reported_lost += lost;
	perf_packets_write_lost(s, ring->cpu, lost);
}

/* Returns false if the record has to wait for an answer. */
static bool handle_perf_record(struct perf_session *s, struct cpu_ring *ring,
			       const struct perf_event_header *h)
{
	if (h->type == PERF_RECORD_SAMPLE)
		return handle_sample(s, ring, (const struct sample_record *)h);
	stack_resolver_apply_record(&s->base.resolver, h);
	request_rows_of_record(s, h);
	if (h->type == PERF_RECORD_COMM &&
	    h->size >= sizeof(struct comm_record) + MAPPING_RECORD_END)
		handle_comm(s, ring->time, h);
	else if (h->type == PERF_RECORD_LOST && h->size >= sizeof(struct lost_record))
		handle_lost(s, ring, ((const struct lost_record *)h)->lost);
	else if (h->type == PERF_RECORD_THROTTLE)
		s->n_throttled++;
	return true;
}

/* ---- in order of time ---- */

static void report_broken_rings(struct perf_session *s)
{
	for (unsigned i = 0; i < s->base.rings.n && !s->is_broken_reported; i++) {
		const struct cpu_ring *r = &s->base.rings.items[i];

		if (!r->broken)
			continue;
		s->is_broken_reported = true;
		log_warn("linux.perf: found a record with an invalid size in the ring buffer of "
			 "CPU %u; later samples of this CPU are missing",
			 r->cpu);
	}
}

static void report_program_losses(struct perf_session *s)
{
	if (!s->program || sample_program_read_lost(s->program) < 0)
		return;
	for (unsigned i = 0; i < s->base.rings.n; i++) {
		uint64_t n = sample_program_count_new_lost(s->program, s->base.rings.items[i].cpu);

		if (n)
			perf_packets_write_lost(s, s->base.rings.items[i].cpu, n);
	}
}

/* Handles the oldest record of all rings, up to that time. Returns 0; -EAGAIN if it has to wait for
 * an answer; -ENOENT if there is none. */
static int handle_oldest_record(struct perf_session *s, uint64_t until)
{
	struct cpu_ring *r = cpu_rings_find_earliest(&s->base.rings, until);
	const struct stack_sample *p = s->program ? sample_program_peek(s->program) : NULL;

	if (p && p->time <= until && (!r || p->time < r->time)) {
		if (!handle_program_sample(s, p))
			return -EAGAIN;
		sample_program_consume(s->program);
		return 0;
	}
	if (!r)
		return -ENOENT;
	if (!handle_perf_record(s, r, cpu_ring_peek(r)))
		return -EAGAIN;
	cpu_ring_consume(r);
	return 0;
}

bool perf_records_read(struct stack_session *base)
{
	struct perf_session *s = (struct perf_session *)base;
	uint64_t until =
		base->reads_all ? UINT64_MAX : clock_ns(s->perf.clock) - CPU_RINGS_DELAY_NS;
	int r = 0;

	cpu_rings_refresh(&base->rings);
	while (r == 0 && s->n_samples < PERF_SAMPLES_MAX && !stacks_is_full(&base->resolver.stacks))
		r = handle_oldest_record(s, until);
	report_broken_rings(s);
	report_program_losses(s);
	cpu_rings_release(&base->rings);
	base->has_more = s->n_samples == PERF_SAMPLES_MAX;
	return r != -EAGAIN;
}
