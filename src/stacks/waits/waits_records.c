/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A record is handled after the changes of mappings up to its time. A stack becomes frames once,
 * when its record comes: a user stack by the mappings of that time.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/text/span.h"
#include "bpf/unwind.h"
#include "stacks/frames/mapping_records.h"
#include "stacks/unwind/unwind_follow.h"
#include "stacks/waits/waits_session.h"

/* ---- known stacks ---- */

const struct known_stack *waits_records_find_stack(const struct waits_session *s, uint64_t hash)
{
	struct known_stack *k;

	HASH_FIND(hh, s->known, &hash, sizeof(hash), k);
	return k;
}

void waits_records_forget_stacks(struct waits_session *s)
{
	HASH_FREE(s->known);
	s->known = NULL;
	if (s->program)
		waits_program_clear_sent_stacks(s->program);
}

/* Remembers a stack, in place of the one with the same hash: that one may have frames of former
 * mappings. */
static void store_stack(struct waits_session *s, uint64_t hash, const struct stack_walk *w)
{
	struct known_stack *k, *old;

	HASH_FIND(hh, s->known, &hash, sizeof(hash), old);
	if (old) {
		HASH_DEL(s->known, old);
		free(old);
	}
	if (HASH_COUNT(s->known) >= WAITS_STACKS_MAX)
		waits_records_forget_stacks(s);
	k = malloc(sizeof(*k) + w->n * sizeof(*k->frames));
	if (!k)
		return;
	k->hash = hash;
	k->n = w->n;
	memcpy(k->frames, w->frames, w->n * sizeof(*k->frames));
	HASH_ADD(hh, s->known, hash, sizeof(k->hash), k);
	if (!k->hh.tbl)
		free(k);
}

/* Returns how many of the innermost frames of a waker's stack belong to the tracepoint and its
 * programs. They are not functions of the kernel, and their addresses may have the name of a symbol
 * before them. */
static uint32_t count_tracing_frames(const struct waits_session *s, const struct wait_stack *r)
{
	const struct symbol_table *table = symbol_cache_table(&s->base.resolver.symbols);
	char name[SYMBOL_TABLE_NAME_MAX + 1];
	uint32_t n = 0;

	for (uint32_t i = 0; table && i < r->n && i < 8; i++) {
		struct span f = {name, symbol_table_find_name(table, r->addresses[i] - 1, name)};

		if ((f.len > 12 && memcmp(f.p, "__traceiter_", 12) == 0) ||
		    (f.len > 13 && memcmp(f.p, "bpf_trace_run", 13) == 0))
			n = i + 1;
	}
	return n;
}

/* Turns the addresses of a stack into frames and stores them. Returns false if the record has to
 * wait for the mappings of its process. */
static bool handle_stack(struct waits_session *s, const struct wait_stack *r)
{
	struct stack_walk w = {.n = 0};
	uint64_t addresses[WAITS_FRAMES_MAX];
	struct address_space *a;
	uint32_t skipped;

	memcpy(addresses, r->addresses, r->n * sizeof(*addresses));
	if (!r->tgid) {
		skipped = count_tracing_frames(s, r);
		stack_walk_add_kernel_stack(&w, &s->base.resolver, addresses + skipped,
					    r->n - skipped);
		store_stack(s, r->hash, &w);
		return true;
	}
	a = address_spaces_get(&s->base.resolver.spaces, (int32_t)r->tgid);
	if (!a)
		return true;
	if (!stack_resolver_ensure_maps(&s->base.resolver, a, r->tid))
		return false;
	if (r->error == UNWIND_NO_FILE)
		unwind_request_files_of_stack(a, &s->base.resolver.files, addresses, r->n, r->time);
	stack_walk_add_user_stack(&w, &s->base.resolver, a, addresses, r->n);
	store_stack(s, r->hash, &w);
	return true;
}

/* ---- the queue ---- */

/* Removes the names of a process's data: other data is at its addresses from now on. */
static void remove_data_objects(struct waits_session *s, int32_t pid)
{
	struct address_space *a = pid && s->base.resolver.objects.all
					  ? address_spaces_get(&s->base.resolver.spaces, pid)
					  : NULL;

	if (!a || !a->has_objects)
		return;
	data_objects_remove_process(&s->base.resolver.objects, pid);
	a->has_objects = false;
}

/* Requests unwind rows for a file that a recorded process maps. */
static void request_rows_of_record(const struct waits_session *s, const struct perf_event_header *h)
{
	struct file_mapping m;
	int32_t pid;

	if (mapping_records_mmap_path(h, &pid, &m) &&
	    (!s->program || waits_program_is_process_recorded(s->program, pid)))
		unwind_follow_record(h);
}

static void apply_mapping_records(struct waits_session *s, uint64_t until)
{
	struct cpu_ring *r;

	while ((r = cpu_rings_find_earliest(&s->base.rings, until))) {
		const struct perf_event_header *h = cpu_ring_peek(r);

		request_rows_of_record(s, h);
		remove_data_objects(s, mapping_records_started_process(h));
		stack_resolver_apply_record(&s->base.resolver, h);
		cpu_ring_consume(r);
	}
}

/* Returns true if the record contains all of its addresses. Only sizes are checked, because the
 * programs that write the records belong to this project. */
static bool is_valid_stack(const struct wait_stack *r, uint64_t size)
{
	size_t head = offsetof(struct wait_stack, addresses);

	return size >= head && r->n <= WAITS_FRAMES_MAX &&
	       size >= head + r->n * sizeof(*r->addresses);
}

bool waits_records_is_futex_wait(const struct wait_event *e)
{
	return e->what.call == SYS_futex && !(e->what.flags & WAIT_COMPAT);
}

/* Requests the name of the futex in this round. */
static void request_futex_name(struct waits_session *s, const struct wait_event *e)
{
	struct address_space *a = address_spaces_get(&s->base.resolver.spaces, (int32_t)e->tgid);

	if (!a || !waits_records_is_futex_wait(e))
		return;
	data_objects_add(&s->base.resolver.objects, (int32_t)e->tgid, e->tid, e->args[0], e->until);
	a->has_objects = true;
}

static void add_wait(struct waits_session *s, const struct wait_event *e)
{
	request_futex_name(s, e);
	if (array_reserve(&s->waits, &s->cap_waits, s->n_waits + 1, sizeof(*s->waits)) == 0)
		s->waits[s->n_waits++] = *e;
	else
		s->n_waits_lost++;
}

bool waits_records_handle_queue(struct stack_session *base)
{
	struct waits_session *s = (struct waits_session *)base;
	uint64_t until = base->reads_all ? UINT64_MAX : clock_boot_ns() - CPU_RINGS_DELAY_NS;
	struct waits_queue *q = &s->queue;
	bool goes_on = true;

	cpu_rings_refresh(&base->rings);
	while (goes_on && q->at < q->n && s->n_waits < WAITS_ROUND_MAX &&
	       !stacks_is_full(&base->resolver.stacks)) {
		const char *record = q->bytes + q->at + sizeof(uint64_t);
		const struct wait_event *e = (const void *)record;
		const struct wait_stack *stack = (const void *)record;
		uint64_t size, time;

		memcpy(&size, q->bytes + q->at, sizeof(size));
		if (size < sizeof(uint32_t))
			break;
		time = e->type == WAIT_RECORD_EVENT ? e->until : stack->time;
		if (time > until)
			break;
		apply_mapping_records(s, time);
		if (e->type == WAIT_RECORD_EVENT && size >= sizeof(*e) && s->config.has_waits)
			add_wait(s, e);
		else if (e->type == WAIT_RECORD_STACK && is_valid_stack(stack, size))
			goes_on = handle_stack(s, stack);
		if (goes_on)
			q->at += sizeof(size) + (size + 7) / 8 * 8;
	}
	if (goes_on)
		apply_mapping_records(s, until);
	cpu_rings_release(&base->rings);
	base->has_more = s->n_waits == WAITS_ROUND_MAX;
	return goes_on;
}
