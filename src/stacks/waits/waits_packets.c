/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Single waits are slices on a track below that of the thread; totals are samples of stacks. Both
 * are on one sequence, and share its interned stacks.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/system/syscall_names.h"
#include "base/text/str.h"
#include "client/counters/thread_slices.h"
#include "ebpf/engine/errors.h"
#include "gen/fields.h"
#include "stacks/waits/wait_reasons.h"
#include "stacks/waits/waits_session.h"

enum { SLICE_BEGIN = 1, SLICE_END = 2 }; /* TrackEvent.Type */
enum { UNIT_NANOSECONDS = 1, UNIT_COUNT = 9 }; /* StackSample.Unit */
#define SCOPE_GLOBAL 1 /* StackSample.CounterDescriptor.Scope */
#define CLOCK_BOOTTIME_ID 6

/* Names of debug annotations, by iid - 1. */
enum annotation {
	BLOCKED_NS,
	STATE,
	SYSCALL,
	WAKER,
	WAKER_TID,
	WAKER_IN_INTERRUPT,
	FUTEX_ADDRESS,
	FUTEX_OBJECT,
	HOLDER_TID,
	HOLDER_KNOWN_BY,
	BEGAN_BEFORE,
	ANNOTATIONS
};

static const char *const annotation_names[ANNOTATIONS] = {
	[BLOCKED_NS] = "blocked ns",
	[STATE] = "state",
	[SYSCALL] = "syscall",
	[WAKER] = "waker",
	[WAKER_TID] = "waker tid",
	[WAKER_IN_INTERRUPT] = "waker in interrupt",
	[FUTEX_ADDRESS] = "futex address",
	[FUTEX_OBJECT] = "futex object",
	[HOLDER_TID] = "holder tid",
	[HOLDER_KNOWN_BY] = "holder known by",
	[BEGAN_BEFORE] = "began before the recording",
};

static const char *const state_names[WAIT_STATES] = {
	[WAIT_INTERRUPTIBLE] = "S", [WAIT_UNINTERRUPTIBLE] = "D",
	[WAIT_STOPPED] = "T",	    [WAIT_PARKED] = "P",
	[WAIT_IDLE] = "I",	    [WAIT_THROTTLED] = "R",
};

/* ---- the state of the sequences ---- */

/* Numbers of stack_session_switch_sequence(): readers turn each sequence into a session of
 * samples. */
enum { OF_WAITS, OF_WAKERS };

static void write_descriptor(struct pb_enc *e, uint32_t field, const char *name, unsigned unit)
{
	pb_enc_open(e, field);
	pb_enc_str(e, PB_STACK_SAMPLE_COUNTER_DESCRIPTOR_NAME, name);
	pb_enc_u64(e, PB_STACK_SAMPLE_COUNTER_DESCRIPTOR_UNIT, unit);
	pb_enc_u64(e, PB_STACK_SAMPLE_COUNTER_DESCRIPTOR_SCOPE, SCOPE_GLOBAL);
	pb_enc_close(e);
}

static void write_defaults(struct pb_enc *e, const char *source)
{
	pb_enc_open(e, PB_TRACE_PACKET_TRACE_PACKET_DEFAULTS);
	pb_enc_u64(e, PB_TRACE_PACKET_DEFAULTS_TIMESTAMP_CLOCK_ID, CLOCK_BOOTTIME_ID);
	pb_enc_open(e, PB_TRACE_PACKET_DEFAULTS_TRACK_EVENT_DEFAULTS);
	pb_enc_close(e);
	pb_enc_open(e, PB_TRACE_PACKET_DEFAULTS_STACK_SAMPLE_DEFAULTS);
	pb_enc_str(e, PB_STACK_SAMPLE_DEFAULTS_SOURCE, source);
	write_descriptor(e, PB_STACK_SAMPLE_DEFAULTS_PRIMARY_DESCRIPTOR, "blocked",
			 UNIT_NANOSECONDS);
	write_descriptor(e, PB_STACK_SAMPLE_DEFAULTS_FOLLOWER_DESCRIPTORS, "waits", UNIT_COUNT);
	pb_enc_close(e);
	pb_enc_close(e);
}

/* Begins a new incremental state if there is none, or if packets of it were dropped. */
static void ensure_state(struct waits_session *s)
{
	struct pb_enc *e = stack_session_begin_state(&s->base);

	if (!e)
		return;
	if (s->base.resolver.stacks.sequence == OF_WAKERS) {
		write_defaults(e, "linux.wakers");
		writer_end(s->base.writer);
		return;
	}
	write_defaults(e, "linux.waits");
	thread_slices_put_annotation_names(e, annotation_names, ANNOTATIONS);
	writer_end(s->base.writer);
}

/* ---- tracks ---- */

/* Returns the track of the thread's waits. Describes it first, unless the sequence has its
 * description. */
static uint64_t ensure_track(struct waits_session *s, const struct wait_event *w)
{
	uint64_t track = thread_slices_track(THREAD_SLICES_OF_WAITS, w->tgid, w->tid);
	struct waits_thread *t, key = {.key = {w->tgid, w->tid}};

	HASH_FIND(hh, s->threads, &key.key, sizeof(key.key), t);
	if (!t) {
		if (HASH_COUNT(s->threads) >= WAITS_THREADS_MAX) {
			HASH_FREE(s->threads);
			s->threads = NULL;
		}
		t = calloc(1, sizeof(*t));
		if (t) {
			t->key = key.key;
			HASH_ADD(hh, s->threads, key, sizeof(t->key), t);
			if (!t->hh.tbl)
				free(TAKE_PTR(t));
		}
	}
	if (t && t->written == stacks_generation(&s->base.resolver.stacks))
		return track;
	thread_slices_describe(s->base.writer, w->since, THREAD_SLICES_OF_WAITS, "waits", w->tgid,
			       w->tid, NULL);
	if (t)
		t->written = stacks_generation(&s->base.resolver.stacks);
	return track;
}

/* ---- stacks and reasons ---- */

/* Appends frames, the innermost first. */
static void add_frames(struct stack_walk *w, const struct known_stack *k)
{
	for (uint32_t i = 0; k && i < k->n && w->n < STACKS_FRAMES_MAX; i++)
		w->frames[w->n++] = k->frames[i];
}

static void add_text(struct stack_walk *w, struct stacks *stacks, const char *text)
{
	int frame = stacks_add_kernel_frame(stacks, text, strlen(text));

	if (frame >= 0 && w->n < STACKS_FRAMES_MAX)
		w->frames[w->n++] = (uint32_t)frame;
}

static void format_wait_call_name(union wait_what what, char ret[static SYSCALL_NAME_MAX])
{
	ret[0] = '\0';
	if (what.call == WAIT_NO_CALL)
		return;
	if (what.flags & WAIT_COMPAT)
		syscall_compat_name((uint32_t)what.call, ret, SYSCALL_NAME_MAX - 1);
	else
		syscall_name(NULL, (uint32_t)what.call, ret);
	if (!*ret)
		snprintf(ret, SYSCALL_NAME_MAX, "call %d", what.call);
}

static void format_reason(const struct waits_session *s, const struct known_stack *kernel,
			  union wait_what what, const char *call, char ret[static WAIT_REASON_MAX])
{
	const struct stacks *stacks = &s->base.resolver.stacks;
	struct span functions[WAITS_FRAMES_MAX];
	struct wait_facts facts = {
		.functions = functions,
		.call = call,
		.state = what.state,
		.lock = what.lock,
		.is_kernel_thread = what.flags & WAIT_KERNEL_THREAD,
	};

	for (uint32_t i = 0; kernel && i < kernel->n && i < ARRAY_SIZE(functions); i++) {
		const struct stack_name *name =
			&stacks->names[stacks->frames[kernel->frames[i]].name];

		functions[facts.n++] = (struct span){stacks->bytes + name->at, name->len};
	}
	wait_reason_format(&facts, ret);
}

/* ---- single waits ---- */

static struct pb_enc *begin_slice(struct waits_session *s, uint64_t time, unsigned type,
				  uint64_t track, uint32_t stack)
{
	struct pb_enc *e = stack_session_begin_packet(&s->base, time, stack);

	pb_enc_open(e, PB_TRACE_PACKET_TRACK_EVENT);
	pb_enc_u64(e, PB_TRACK_EVENT_TYPE, type);
	pb_enc_u64(e, PB_TRACK_EVENT_TRACK_UUID, track);
	if (stack)
		pb_enc_u64(e, PB_TRACK_EVENT_CALLSTACK_IID, stack);
	return e;
}

static void end_slice(struct waits_session *s, struct pb_enc *e)
{
	pb_enc_close(e);
	writer_end(s->base.writer);
}

static void open_annotation(struct pb_enc *e, enum annotation name)
{
	pb_enc_open(e, PB_TRACK_EVENT_DEBUG_ANNOTATIONS);
	pb_enc_u64(e, PB_DEBUG_ANNOTATION_NAME_IID, (uint64_t)name + 1);
}

static void add_int(struct pb_enc *e, enum annotation name, uint64_t value)
{
	open_annotation(e, name);
	pb_enc_i64(e, PB_DEBUG_ANNOTATION_INT_VALUE, (int64_t)value);
	pb_enc_close(e);
}

static void add_bool(struct pb_enc *e, enum annotation name)
{
	open_annotation(e, name);
	pb_enc_u64(e, PB_DEBUG_ANNOTATION_BOOL_VALUE, 1);
	pb_enc_close(e);
}

static void add_string(struct pb_enc *e, enum annotation name, const char *value)
{
	open_annotation(e, name);
	pb_enc_str(e, PB_DEBUG_ANNOTATION_STRING_VALUE, value);
	pb_enc_close(e);
}

/* Returns true if the waker is known. A throttled wait has none, nor has one whose wakeup was not
 * seen or is still to come. */
static bool has_waker(const struct wait_event *w)
{
	return *w->waker_comm || w->what.flags & WAIT_WAKER_IS_INTERRUPT;
}

/* Writes who ended the wait. If it was an interrupt, the thread that ran then has nothing to do
 * with it. */
static void add_waker(struct pb_enc *e, const struct wait_event *w)
{
	char comm[WAITS_NAME];

	if (w->what.flags & WAIT_WAKER_IS_INTERRUPT) {
		add_string(e, WAKER, "interrupt");
		add_bool(e, WAKER_IN_INTERRUPT);
		return;
	}
	memcpy(comm, w->waker_comm, sizeof(comm));
	comm[sizeof(comm) - 1] = '\0';
	str_make_plain(comm, strlen(comm), "");
	add_string(e, WAKER, comm);
	add_int(e, WAKER_TID, w->waker_tid);
}

static uint32_t add_wait_stack(struct waits_session *s, uint64_t kernel, uint64_t user)
{
	const struct known_stack *k = kernel ? waits_records_find_stack(s, kernel) : NULL;
	const struct known_stack *u = user ? waits_records_find_stack(s, user) : NULL;
	struct stack_walk w = {.n = 0};

	s->n_stacks_lost += (kernel && !k) + (user && !u);
	add_frames(&w, k);
	add_frames(&w, u);
	return stack_walk_end(&w, &s->base.resolver);
}

#define MUTEX_FRAMES 4 /* innermost frames of a program in which a mutex is locked */

/* Returns whether the frame is in a function of glibc for mutexes. Other C libraries have other
 * mutexes. */
static bool is_glibc_mutex(const struct stacks *stacks, const struct stack_frame *f)
{
	const char *path = stacks->files->items[stacks->mappings[f->mapping].file].path;
	const char *base = strrchr(path, '/');
	const struct stack_name *name = f->name ? &stacks->names[f->name] : NULL;

	return base && name &&
	       (strcmp(base, "/libc.so.6") == 0 || strncmp(base, "/libpthread", 11) == 0) &&
	       memmem(stacks->bytes + name->at, name->len, "pthread_mutex_", 14);
}

/* Returns what shows that the holder_tid of the wait holds the lock; NULL: nothing does. */
static const char *find_holder_evidence(struct waits_session *s, const struct wait_event *w)
{
	const struct known_stack *user = w->user ? waits_records_find_stack(s, w->user) : NULL;
	const struct stacks *stacks = &s->base.resolver.stacks;

	if (!w->holder_tid)
		return NULL;
	if (w->what.flags & WAIT_HOLDER_IS_IN_FUTEX)
		return "PI futex";
	for (uint32_t i = 0; user && i < user->n && i < MUTEX_FRAMES; i++)
		if (is_glibc_mutex(stacks, &stacks->frames[user->frames[i]]))
			return "mutex owner";
	return NULL;
}

/* Adds the futex that the thread waited for, and the thread that held it. */
static void add_futex(struct waits_session *s, struct pb_enc *e, const struct wait_event *w)
{
	const char *evidence = find_holder_evidence(s, w);
	char name[DATA_OBJECT_NAME_MAX];

	if (!s->hides_addresses)
		add_int(e, FUTEX_ADDRESS, w->args[0]);
	if (data_objects_format_name(&s->base.resolver.objects, (int32_t)w->tgid, w->args[0],
				     &s->base.resolver.stacks, name))
		add_string(e, FUTEX_OBJECT, name);
	if (!evidence)
		return;
	add_int(e, HOLDER_TID, w->holder_tid);
	add_string(e, HOLDER_KNOWN_BY, evidence);
}

static void write_wait(struct waits_session *s, const struct wait_event *w)
{
	const struct known_stack *kernel = waits_records_find_stack(s, w->kernel);
	uint32_t sleeper = add_wait_stack(s, w->kernel, w->user);
	uint32_t waker = add_wait_stack(s, w->waker_kernel, w->waker_user);
	char call[SYSCALL_NAME_MAX], reason[WAIT_REASON_MAX];
	uint64_t track;
	struct pb_enc *e;

	ensure_state(s);
	format_wait_call_name(w->what, call);
	format_reason(s, kernel, w->what, call, reason);
	track = ensure_track(s, w);
	e = begin_slice(s, w->since, SLICE_BEGIN, track, sleeper);
	pb_enc_str(e, PB_TRACK_EVENT_NAME, reason);
	add_int(e, BLOCKED_NS, w->until > w->since ? w->until - w->since : 0);
	add_string(e, STATE, state_names[MIN(w->what.state, (unsigned)WAIT_STATES - 1)]);
	if (*call)
		add_string(e, SYSCALL, call);
	if (strcmp(reason, "futex") == 0 && waits_records_is_futex_wait(w))
		add_futex(s, e, w);
	if (w->what.flags & WAIT_BEGAN_BEFORE)
		add_bool(e, BEGAN_BEFORE);
	if (has_waker(w))
		add_waker(e, w);
	end_slice(s, e);
	if (!(w->what.flags & WAIT_STILL_WAITS))
		end_slice(s, begin_slice(s, w->until, SLICE_END, track, waker));
	s->n_written++;
}

/* Publishes the threads, so that linux.process_stats describes them. */
static void publish_threads(struct waits_session *s)
{
	size_t n = 0;

	if (!s->n_waits || !stack_session_has_subscriber(&s->base) ||
	    stack_session_reserve_tids(&s->base, 3 * s->n_waits) < 0)
		return;
	for (size_t i = 0; i < s->n_waits; i++) {
		const struct wait_event *w = &s->waits[i];

		s->base.tids[n++] = (int32_t)w->tid;
		s->base.tids[n++] = (int32_t)w->waker_tid;
		if (find_holder_evidence(s, w))
			s->base.tids[n++] = (int32_t)w->holder_tid;
	}
	stack_session_publish_tids(&s->base, n);
}

void waits_packets_write_waits(struct waits_session *s)
{
	publish_threads(s);
	for (size_t i = 0; i < s->n_waits; i++)
		write_wait(s, &s->waits[i]);
	s->n_waits = 0;
}

/* ---- totals ---- */

/* Adds the frames of the code, then the reason as the innermost frame, so that viewers without
 * support for waits show it. If no stack was recorded, a single frame says so. */
static uint32_t add_stack_with_reason(struct waits_session *s, const struct wait_key *k)
{
	const struct known_stack *kernel =
		k->kernel ? waits_records_find_stack(s, k->kernel) : NULL;
	const struct known_stack *user = k->user ? waits_records_find_stack(s, k->user) : NULL;
	char call[SYSCALL_NAME_MAX], reason[WAIT_REASON_MAX], text[WAIT_REASON_MAX + 2];
	struct stacks *stacks = &s->base.resolver.stacks;
	struct stack_walk w = {.n = 0};

	format_wait_call_name(k->what, call);
	format_reason(s, kernel, k->what, call, reason);
	snprintf(text, sizeof(text), "[%s]", reason);
	add_text(&w, stacks, text);
	add_frames(&w, kernel);
	add_frames(&w, user);
	if (!kernel && !user)
		add_text(&w, stacks, "[no stack taken]");
	else if (!user && !(k->what.flags & WAIT_KERNEL_THREAD))
		add_text(&w, stacks, "[no user stack taken]");
	return stack_walk_end(&w, &s->base.resolver);
}

/* Adds the frames of the waker; the outermost one is its name. Returns the number of the stack + 1;
 * 0: memory runs out. */
static uint32_t add_waker_stack(struct waits_session *s, const struct waker_key *k)
{
	const struct known_stack *kernel =
		k->waits.kernel ? waits_records_find_stack(s, k->waits.kernel) : NULL;
	const struct known_stack *user =
		k->waits.user ? waits_records_find_stack(s, k->waits.user) : NULL;
	char name[WAITS_NAME], text[WAITS_NAME + 16];
	struct stacks *stacks = &s->base.resolver.stacks;
	struct stack_walk w = {.n = 0};

	memcpy(name, k->name, sizeof(name));
	name[sizeof(name) - 1] = '\0';
	str_make_plain(name, strlen(name), "");
	add_frames(&w, kernel);
	add_frames(&w, user);
	if (!kernel && !user) {
		add_text(&w, stacks, "[no waker stack taken]");
	} else {
		snprintf(text, sizeof(text), "[waker: %s]", name);
		add_text(&w, stacks, text);
	}
	return stack_walk_end(&w, &s->base.resolver);
}

static void write_sample(struct waits_session *s, const struct wait_key *k, uint32_t stack,
			 const struct wait_sum *grown)
{
	uint8_t waits[10]; /* in a packed field */
	struct pb_enc *e;

	ensure_state(s);
	e = stack_session_begin_packet(&s->base, grown->last, stack);
	pb_enc_open(e, PB_TRACE_PACKET_STACK_SAMPLE);
	pb_enc_open(e, PB_STACK_SAMPLE_TASK_CONTEXT);
	pb_enc_u64(e, PB_STACK_SAMPLE_TASK_CONTEXT_PID, k->tgid);
	if (k->tid)
		pb_enc_u64(e, PB_STACK_SAMPLE_TASK_CONTEXT_TID, k->tid);
	pb_enc_close(e);
	if (stack)
		pb_enc_u64(e, PB_STACK_SAMPLE_CALLSTACK_IID, stack);
	pb_enc_u64(e, PB_STACK_SAMPLE_PRIMARY_WEIGHT, grown->ns);
	pb_enc_bytes(e, PB_STACK_SAMPLE_FOLLOWER_WEIGHTS, waits,
		     (size_t)(pb_put_varint(waits, grown->waits) - waits));
	pb_enc_close(e);
	writer_end(s->base.writer);
}

static void write_total(struct waits_session *s, const struct waker_key *k,
			const struct wait_sum *grown)
{
	if (!(k->waits.what.flags & WAIT_OF_WAKER)) {
		write_sample(s, &k->waits, add_stack_with_reason(s, &k->waits), grown);
		return;
	}
	if (!s->base.other_writer)
		return;
	stack_session_switch_sequence(&s->base);
	write_sample(s, &k->waits, add_waker_stack(s, k), grown);
	stack_session_switch_sequence(&s->base);
}

void waits_packets_write_totals(struct waits_session *s)
{
	waits_totals_write(s, write_total);
	waits_totals_write_without_waker(s, write_total);
}

/* ---- losses and cost ---- */

static void write_limits(struct pb_enc *e, const struct waits_counts *c)
{
	if (!c->is_lowered)
		return;
	pb_enc_u64(e, PB_WAITS_STATS_WAITS_PER_SECOND, c->budget.waits);
	pb_enc_u64(e, PB_WAITS_STATS_KERNEL_STACKS_PER_SECOND, c->budget.kernel_stacks);
	pb_enc_u64(e, PB_WAITS_STATS_USER_STACKS_PER_SECOND, c->budget.user_stacks);
}

void waits_packets_write_stats(struct waits_session *s, const struct waits_counts *c)
{
	const struct {
		uint32_t field;
		uint64_t value;
	} values[] = {
		{PB_WAITS_STATS_WAITS, c->lost.switches},
		{PB_WAITS_STATS_SINGLE_WAITS, s->n_written},
		{PB_WAITS_STATS_LEFT_OUT, s->config.has_waits ? c->lost.left_out : 0},
		{PB_WAITS_STATS_RING_FULL, c->lost.ring_full + s->n_waits_lost},
		{PB_WAITS_STATS_NO_BEGIN, c->lost.no_slot},
		{PB_WAITS_STATS_NO_END, c->lost.no_end},
		{PB_WAITS_STATS_NO_WAKING, c->lost.no_waking},
		{PB_WAITS_STATS_NO_TOTAL, c->lost.no_key},
		{PB_WAITS_STATS_NO_TOTAL_NS, c->lost.no_key_ns},
		{PB_WAITS_STATS_KERNEL_STACKS, c->lost.kernel_stacks},
		{PB_WAITS_STATS_KERNEL_STACKS_REFUSED, c->lost.kernel_refused},
		{PB_WAITS_STATS_KERNEL_STACKS_FAILED, c->lost.kernel_failed},
		{PB_WAITS_STATS_USER_STACKS, c->lost.user_stacks},
		{PB_WAITS_STATS_USER_STACKS_REFUSED, c->lost.user_refused},
		{PB_WAITS_STATS_USER_STACKS_FAILED, c->lost.user_failed},
		{PB_WAITS_STATS_STACKS_LOST, c->lost.stack_lost + s->n_stacks_lost},
	};
	struct pb_enc *e = stack_session_begin_packet_now(&s->base);

	pb_enc_open(e, PB_TRACE_PACKET_WAITS_STATS);
	if (s->base.refusal)
		pb_enc_str(e, PB_WAITS_STATS_ERROR, s->base.refused.text);
	for (size_t i = 0; i < ARRAY_SIZE(values); i++)
		if (values[i].value)
			pb_enc_u64(e, values[i].field, values[i].value);
	if (c->measured_ns) {
		pb_enc_u64(e, PB_WAITS_STATS_MACHINE_PPM,
			   (uint64_t)(1e6 * (double)c->run_ns / (double)c->measured_ns));
		pb_enc_u64(e, PB_WAITS_STATS_RUN_NS, c->run_ns / MAX(c->runs, 1u));
	}
	write_limits(e, c);
	pb_enc_close(e);
	writer_end(s->base.writer);
	ebpf_errors_write_missed("linux.waits", c->missed_programs, s->base.writer);
}
