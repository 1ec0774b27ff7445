/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/system/log.h"
#include "base/system/outside_reads.h"
#include "stacks/samples/perf_session.h"

/* Profiling.CpuMode and .StackUnwindError */
enum { MODE_UNKNOWN, MODE_KERNEL, MODE_USER, MODE_HYPERVISOR, MODE_GUEST_KERNEL, MODE_GUEST_USER };
enum { ERROR_INVALID_MAP = 5, ERROR_TOO_MANY = 6 };

/* Subtracted from a return address to get an address within the call instruction. */
#if defined(__x86_64__) || defined(__i386__)
#define CALL_SIZE 1
#else
#define CALL_SIZE 4
#endif

struct sample_record {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t time;
	uint32_t cpu, unused;
	uint64_t count;
	/*
	 * The number of lost records if the ring counts them; then, with CALLCHAIN, n and n
	 * addresses.
	 */
	uint64_t rest[];
};

struct mmap_record {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t start, length, offset;
	uint32_t major, minor;
	uint64_t inode, generation;
	uint32_t protection, flags;
	char path[];
};

struct comm_record {
	struct perf_event_header header;
	uint32_t pid, tid;
	char name[];
};

struct task_record { /* FORK and EXIT */
	struct perf_event_header header;
	uint32_t pid, parent, tid, parent_tid;
};

struct lost_record {
	struct perf_event_header header;
	uint64_t id, lost;
};

/* ---- processes ---- */

/* Returns true if the process is to be sampled. Reads its command line the first time. */
static bool perf_records_check_wanted(struct perf_session *s, struct address_space *a)
{
	static char cmdline[4096];
	char path[64];
	ssize_t n = 0;

	if (a->is_checked)
		return a->is_wanted;
	if (perf_config_needs_cmdline(&s->perf)) {
		snprintf(path, sizeof(path), "%s/%d/cmdline", s->proc_root, a->pid);
		n = outside_read(path, cmdline, sizeof(cmdline) - 1, OUTSIDE_READ_LONG_MS);
	}
	cmdline[n > 0 ? n : 0] = '\0';
	a->is_wanted = perf_config_wants(&s->perf, a->pid, cmdline);
	a->is_checked = n != -EAGAIN;
	return a->is_wanted;
}

/*
 * Returns true if a ring holds an unread exec of the process. Then the mappings that were just read
 * are those of the new program, and unread records before the exec are of the old one.
 */
static bool has_unread_exec(struct perf_session *s, int32_t pid)
{
	bool found = false;

	for (unsigned i = 0; i < s->n_rings && !found; i++) {
		struct cpu_ring r = s->rings[i];
		const struct perf_event_header *h;

		for (cpu_ring_refresh(&r); !found && (h = cpu_ring_peek(&r)); cpu_ring_consume(&r))
			found = h->type == PERF_RECORD_COMM &&
				h->misc & PERF_RECORD_MISC_COMM_EXEC &&
				(int32_t)((const struct comm_record *)h)->pid == pid;
	}
	return found;
}

void perf_records_handle_answer(struct perf_session *s, const struct file_answer *a)
{
	struct address_space *space;
	uint32_t at = 0;

	if (!s->maps_of || s->maps_of != (int32_t)a->id)
		return;
	space = address_spaces_get(&s->spaces, s->maps_of);
	if (!space)
		return;
	for (uint32_t i = 0; i < a->n; i++) {
		struct file_mapping m;

		memcpy(&m, a->body + at, sizeof(m));
		at += sizeof(m);
		address_space_map(&s->spaces, space, &m, a->body + at);
		at += (m.path_len + 7) / 8 * 8;
	}
	if (a->has_more)
		return;
	if (has_unread_exec(s, space->pid))
		address_space_clear(&s->spaces, space);
	space->is_known = true;
	s->maps_of = 0;
	s->outstanding -= s->outstanding > 0;
}

/*
 * Requests the mappings of the process if they are unknown. Returns true if the record has to wait
 * for them.
 */
static bool request_maps(struct perf_session *s, struct address_space *a, uint32_t tid)
{
	if (a->is_known || !s->perf.has_user_frames || s->reader_is_silent)
		return false;
	address_space_clear(&s->spaces, a);
	if (!file_reader_ask_maps(&s->reader, a->pid, (int32_t)tid)) {
		a->is_known = !file_reader_is_alive();
		return !a->is_known;
	}
	s->maps_of = a->pid;
	s->outstanding++;
	return true;
}

/* ---- samples ---- */

/* The frames of a stack, the innermost first. */
struct walk {
	uint32_t frames[STACKS_FRAMES_MAX];
	uint32_t n;
	uint8_t error;
};

static void add_frame_number(struct walk *w, int frame)
{
	if (frame < 0 || w->n == STACKS_FRAMES_MAX)
		w->error = ERROR_TOO_MANY;
	else
		w->frames[w->n++] = (uint32_t)frame;
}

static void add_kernel(struct perf_session *s, struct walk *w, uint64_t address)
{
	const struct symbol_table *table = symbol_cache_table(&s->symbols);
	char name[SYMBOL_TABLE_NAME_MAX + 1];
	size_t len = table ? symbol_table_find_name(table, address, name) : 0;

	add_frame_number(w, stacks_add_kernel_frame(&s->stacks, name, len));
}

/*
 * Returns false if the rest of the chain is invalid: in a program without frame pointers the kernel
 * takes other values for return addresses.
 */
static bool add_user(struct perf_session *s, struct walk *w, const struct address_space *a,
		     uint64_t address, bool is_caller)
{
	const struct process_mapping *m = address_space_find(a, address);

	if (m)
		add_frame_number(w, stacks_add_user_frame(&s->stacks, m, address));
	else if (!is_caller)
		add_frame_number(w, stacks_add_unknown_frame(&s->stacks));
	if (!m)
		w->error = ERROR_INVALID_MAP;
	return m;
}

/*
 * Format: perf_event_open(2), PERF_SAMPLE_CALLCHAIN; a marker announces addresses of the kernel or
 * of the user.
 */
static void walk_addresses(struct perf_session *s, const uint64_t *addresses, size_t n,
			   const struct address_space *a, struct walk *w)
{
	uint64_t context = 0;
	bool is_caller = false;

	for (size_t i = 0; i < n; i++) {
		uint64_t address = addresses[i];

		if (address >= (uint64_t)PERF_CONTEXT_MAX) {
			context = address;
			is_caller = false;
			continue;
		}
		if (is_caller && address > CALL_SIZE)
			address -= CALL_SIZE;
		if (context == (uint64_t)PERF_CONTEXT_KERNEL)
			add_kernel(s, w, address);
		else if (context == (uint64_t)PERF_CONTEXT_USER &&
			 !add_user(s, w, a, address, is_caller))
			break;
		is_caller = true;
	}
}

/*
 * Adds the stack of a sample. chain: n and its addresses, of which the record has `room` at most.
 * Returns the number of the stack + 1; 0: none.
 */
static uint32_t add_sample_stack(struct perf_session *s, const uint64_t *chain, size_t room,
				 const struct address_space *a, uint8_t *ret_error)
{
	struct walk w = {.n = 0};
	int number;

	walk_addresses(s, chain + 1, MIN((size_t)chain[0], room), a, &w);
	*ret_error = w.error;
	for (uint32_t i = 0; i < w.n / 2; i++) {
		uint32_t frame = w.frames[i];

		w.frames[i] = w.frames[w.n - 1 - i];
		w.frames[w.n - 1 - i] = frame;
	}
	number = w.n ? stacks_add(&s->stacks, w.frames, w.n) : -ENOENT;
	return number < 0 ? 0 : (uint32_t)number + 1;
}

static uint8_t cpu_mode(uint16_t misc)
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

/* Returns false if the record has to wait for an answer. */
static bool handle_sample(struct perf_session *s, const struct cpu_ring *ring,
			  const struct sample_record *r)
{
	size_t before = ring->counts_lost ? 1 : 0, min = before + (s->perf.has_stacks ? 1 : 0),
	       room;
	struct address_space *a;
	struct perf_sample sample;

	if (r->header.size < offsetof(struct sample_record, rest) + min * sizeof(*r->rest))
		return true;
	room = (r->header.size - offsetof(struct sample_record, rest)) / sizeof(*r->rest) - min;
	a = address_spaces_get(&s->spaces, (int32_t)r->pid);
	if (!a ||
	    array_reserve(&s->samples, &s->cap_samples, s->n_samples + 1, sizeof(sample)) < 0) {
		perf_packets_write_lost(s, ring->cpu, 1);
		return true;
	}
	if (!perf_records_check_wanted(s, a))
		return true;
	if (r->pid && request_maps(s, a, r->tid))
		return false;
	sample = (struct perf_sample){.time = r->time,
				      .count = r->count,
				      .cpu = r->cpu,
				      .pid = r->pid,
				      .tid = r->tid,
				      .mode = cpu_mode(r->header.misc)};
	if (s->perf.has_stacks)
		sample.stack = add_sample_stack(s, r->rest + before, room, a, &sample.unwind_error);
	s->samples[s->n_samples++] = sample;
	return true;
}

/* ---- other records ---- */

static void handle_mmap(struct perf_session *s, const struct mmap_record *r)
{
	struct address_space *a = address_spaces_get(&s->spaces, (int32_t)r->pid);
	size_t room = r->header.size - offsetof(struct mmap_record, path) - 24;
	struct file_mapping m = {
		.start = r->start,
		.end = r->start + r->length,
		/* Without a file the offset is the address, which other users must not see. */
		.offset = r->inode ? r->offset : 0,
		.inode = r->inode,
		.major = r->major,
		.minor = r->minor,
		.path_len = (uint32_t)strnlen(r->path, room)};

	if (a && a->is_known && m.start < m.end)
		address_space_map(&s->spaces, a, &m, r->path);
}

static void handle_comm(struct perf_session *s, uint64_t time, const struct perf_event_header *h)
{
	const struct comm_record *r = (const struct comm_record *)h;
	bool is_exec = h->misc & PERF_RECORD_MISC_COMM_EXEC;

	if (is_exec)
		address_spaces_exec(&s->spaces, (int32_t)r->pid);
	perf_tasks_rename(s, time, (int32_t)r->tid, r->name, h->size - sizeof(*r) - 24, is_exec);
}

/* Returns false if the record has to wait for an answer. */
static bool handle_perf_record(struct perf_session *s, struct cpu_ring *ring,
			       const struct perf_event_header *h)
{
	const struct task_record *task = (const struct task_record *)h;

	switch (h->type) {
	case PERF_RECORD_SAMPLE:
		return handle_sample(s, ring, (const struct sample_record *)h);
	case PERF_RECORD_MMAP2:
		if (h->size >= offsetof(struct mmap_record, path) + 24)
			handle_mmap(s, (const struct mmap_record *)h);
		break;
	case PERF_RECORD_COMM:
		if (h->size >= sizeof(struct comm_record) + 24)
			handle_comm(s, ring->time, h);
		break;
	case PERF_RECORD_FORK:
		if (h->size >= sizeof(*task) && task->pid != task->parent)
			address_spaces_fork(&s->spaces, (int32_t)task->parent, (int32_t)task->pid);
		break;
	case PERF_RECORD_EXIT:
		if (h->size >= sizeof(*task) && task->pid == task->tid)
			address_spaces_exit(&s->spaces, (int32_t)task->pid);
		break;
	case PERF_RECORD_LOST:
		if (h->size >= sizeof(struct lost_record)) {
			ring->reported_lost += ((const struct lost_record *)h)->lost;
			perf_packets_write_lost(s, ring->cpu,
						((const struct lost_record *)h)->lost);
			address_spaces_forget(&s->spaces); /* mappings may have been lost */
		}
		break;
	case PERF_RECORD_THROTTLE:
		s->n_throttled++;
		break;
	}
	return true;
}

/* ---- in order of time ---- */

static struct cpu_ring *earliest_ring(struct perf_session *s, uint64_t until)
{
	struct cpu_ring *best = NULL;

	for (unsigned i = 0; i < s->n_rings; i++) {
		struct cpu_ring *r = &s->rings[i];

		if (r->has_next && r->time <= until && (!best || r->time < best->time))
			best = r;
		if (r->broken && !s->is_broken_reported) {
			s->is_broken_reported = true;
			log_warn(
				"linux.perf: the ring of CPU %u has a record without a valid size; "
				"samples of this CPU are missing from here on",
				r->cpu);
		}
	}
	return best;
}

bool perf_records_read(struct perf_session *s)
{
	uint64_t until = s->reads_all ? UINT64_MAX : clock_ns(s->perf.clock) - PERF_SETTLE_NS;
	struct cpu_ring *r;
	bool at_end = true;

	for (unsigned i = 0; i < s->n_rings; i++)
		cpu_ring_refresh(&s->rings[i]);
	while (at_end && s->n_samples < PERF_SAMPLES_MAX && !stacks_is_full(&s->stacks) &&
	       (r = earliest_ring(s, until))) {
		at_end = handle_perf_record(s, r, cpu_ring_peek(r));
		if (at_end)
			cpu_ring_consume(r);
	}
	for (unsigned i = 0; i < s->n_rings; i++)
		cpu_ring_release(&s->rings[i]);
	return at_end;
}
