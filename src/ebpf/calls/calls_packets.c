/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call is a slice on the track "syscalls" below that of its thread. Its arguments are debug
 * annotations: a text if the kernel has read what it points to, else a number.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/calls/call_memory.h"
#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/system/syscall_names.h"
#include "client/counters/thread_slices.h"
#include "ebpf/calls/calls_session.h"
#include "ebpf/engine/errors.h"
#include "gen/fields.h"

/* TracePacket.sequence_flags */
enum { STATE_BEGINS = 1, STATE_NEEDED = 2 };
enum { SLICE_BEGIN = 1, SLICE_END = 2 }; /* TrackEvent.Type */
#define CLOCK_BOOTTIME_ID 6

/* Names of debug annotations, by iid - 1. */
enum annotation { ARG0, RET = CALL_ARGS, COMPAT, CUT, INODE, DEVICE, ANNOTATIONS };

static const char *const annotation_names[ANNOTATIONS] = {
	"arg0",
	"arg1",
	"arg2",
	"arg3",
	"arg4",
	"arg5",
	[RET] = "ret",
	[COMPAT] = "32-bit",
	/* The number of an argument that is longer than its text. */
	[CUT] = "cut",
	/* The file that the call has opened; the device as user space numbers it. */
	[INODE] = "inode",
	[DEVICE] = "dev",
};

/* ---- the state of the sequence ---- */

/* Begins a new incremental state if there is none, or if packets of it were dropped. */
static void calls_packets_ensure_state(struct calls_session *s)
{
	struct pb_enc *e;

	if (s->generation && !writer_has_lost(s->writer))
		return;
	s->generation = ++s->generations;
	e = writer_begin(s->writer);
	pb_enc_u64(e, PB_TRACE_PACKET_TIMESTAMP, clock_boot_ns());
	pb_enc_u64(e, PB_TRACE_PACKET_TIMESTAMP_CLOCK_ID, CLOCK_BOOTTIME_ID);
	pb_enc_u64(e, PB_TRACE_PACKET_SEQUENCE_FLAGS, STATE_BEGINS);
	pb_enc_open(e, PB_TRACE_PACKET_TRACE_PACKET_DEFAULTS);
	pb_enc_u64(e, PB_TRACE_PACKET_DEFAULTS_TIMESTAMP_CLOCK_ID, CLOCK_BOOTTIME_ID);
	pb_enc_open(e, PB_TRACE_PACKET_DEFAULTS_TRACK_EVENT_DEFAULTS);
	pb_enc_close(e);
	pb_enc_close(e);
	thread_slices_put_annotation_names(e, annotation_names, ANNOTATIONS);
	writer_end(s->writer);
}

/* ---- threads and their tracks ---- */

void calls_packets_free_threads(struct calls_session *s)
{
	struct calls_thread *t, *next;

	HASH_ITER (hh, s->threads, t, next) {
		s->n_texts_lost += t->n_pieces != 0;
		HASH_DEL(s->threads, t);
		free(t->pieces);
		free(t);
	}
	s->threads = NULL;
}

/* Returns the thread; adds it if it is new. Above CALLS_THREADS_MAX removes all other threads
 * first. Returns NULL if memory runs out. */
static struct calls_thread *calls_thread_get(struct calls_session *s, const struct call_head *h)
{
	struct calls_thread *t, key = {.key = {h->tgid, h->tid}};

	HASH_FIND(hh, s->threads, &key.key, sizeof(key.key), t);
	if (t)
		return t;
	if (HASH_COUNT(s->threads) >= CALLS_THREADS_MAX)
		calls_packets_free_threads(s);
	t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->key = key.key;
	HASH_ADD(hh, s->threads, key, sizeof(t->key), t);
	if (!t->hh.tbl)
		free(TAKE_PTR(t));
	return t;
}

static void calls_packets_write_thread(struct calls_session *s, const struct call_record *r)
{
	char comm[CALLS_NAME];

	memcpy(comm, r->comm, sizeof(comm));
	comm[sizeof(comm) - 1] = '\0';
	str_make_plain(comm, strlen(comm), "");
	thread_slices_describe(s->writer, r->since, THREAD_SLICES_OF_CALLS, "syscalls",
			       r->head.tgid, r->head.tid, comm);
}

static void calls_packets_add_tid(struct calls_session *s, uint32_t tid)
{
	if (array_reserve(&s->tids, &s->cap_tids, s->n_tids + 1, sizeof(*s->tids)) == 0)
		s->tids[s->n_tids++] = (int32_t)tid;
}

/* Returns the track of the thread's calls. Describes it first, unless the sequence has described it
 * under the current name of the thread. */
static uint64_t calls_packets_get_track(struct calls_session *s, struct calls_thread *t,
					const struct call_record *r)
{
	if (!t || t->written != s->generation || memcmp(t->comm, r->comm, sizeof(t->comm)) != 0) {
		calls_packets_write_thread(s, r);
		calls_packets_add_tid(s, r->head.tid);
		if (t) {
			t->written = s->generation;
			memcpy(t->comm, r->comm, sizeof(t->comm));
		}
	}
	return thread_slices_track(THREAD_SLICES_OF_CALLS, r->head.tgid, r->head.tid);
}

static int calls_packets_compare_tids(const void *a, const void *b)
{
	int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

	return x < y ? -1 : x > y;
}

void calls_packets_publish_tids(struct calls_session *s)
{
	struct metadata_batch batch = {0};

	if (s->n_tids && s->is_publisher) {
		qsort(s->tids, s->n_tids, sizeof(*s->tids), calls_packets_compare_tids);
		for (size_t i = 0; i < s->n_tids; i++)
			if (!batch.n_tids || s->tids[batch.n_tids - 1] != s->tids[i])
				s->tids[batch.n_tids++] = s->tids[i];
		batch.tids = s->tids;
		metadata_bus_publish(s->bus, ds_session_id(s->h), &batch);
	}
	s->n_tids = 0;
}

/* ---- pieces ---- */

/* The bytes of pieces of a call: those of its begin, and those of its end. */
struct calls_pieces {
	const uint8_t *bytes[2];
	size_t n[2];
};

/* Returns the bytes of the piece at *at, with its head in *ret, and advances to the next piece.
 * Returns NULL at the end, or if the piece is malformed. */
static const uint8_t *next_piece(const uint8_t *bytes, size_t n, size_t *at, struct call_piece *ret)
{
	const uint8_t *piece = bytes + *at;

	if (n - *at < sizeof(*ret))
		return NULL;
	memcpy(ret, piece, sizeof(*ret));
	if (ret->len > n - *at - sizeof(*ret))
		return NULL;
	*at += sizeof(*ret) + MIN(((size_t)ret->len + 7) / 8 * 8, n - *at - sizeof(*ret));
	return piece + sizeof(*ret);
}

/* Appends a piece to the text of its argument. Returns false if it has no text. */
static bool append_piece(const struct call_row *row, const struct call_piece *p,
			 const uint8_t *bytes, struct strbuf *text)
{
	switch (p->memory) {
	case CALL_STRING:
		call_string_put(bytes, p->len, text);
		return true;
	case CALL_TEXT_OUT: /* with a NUL (getcwd) or without one (readlink) */
		call_string_put(bytes, strnlen((const char *)bytes, p->len), text);
		return true;
	case CALL_STRINGS:
		strbuf_puts(text, text->len ? ", " : "[");
		strbuf_puts(text, p->is_cut && !p->len ? "..." : "\"");
		if (p->is_cut && !p->len)
			return true;
		call_string_put(bytes, p->len, text);
		strbuf_puts(text, p->is_cut ? "\"..." : "\"");
		return true;
	case CALL_SOCKADDR:
	case CALL_SOCKADDR_OUT:
		return call_address_put(bytes, p->len, text);
	}
	return call_struct_put(row->args[p->arg], bytes, p->len, text);
}

/* Sets s->text to that of an argument. Returns false if it has none. */
static bool format_argument_text(struct calls_session *s, const struct call_row *row, unsigned arg,
				 const struct calls_pieces *of, bool *ret_is_cut)
{
	const uint8_t *bytes;
	struct call_piece p;
	bool found = false;

	strbuf_clear(&s->text);
	*ret_is_cut = false;
	for (unsigned part = 0; part < ARRAY_SIZE(of->bytes); part++)
		for (size_t at = 0; (bytes = next_piece(of->bytes[part], of->n[part], &at, &p));) {
			if (p.arg != arg)
				continue;
			found |= append_piece(row, &p, bytes, &s->text);
			*ret_is_cut |= p.is_cut && p.memory != CALL_STRINGS;
		}
	if (found && row->args[arg] == CALL_ARGV)
		strbuf_putc(&s->text, ']');
	return found;
}

/* ---- a call ---- */

static void open_annotation_of_call(struct pb_enc *e, unsigned annotation)
{
	pb_enc_open(e, PB_TRACK_EVENT_DEBUG_ANNOTATIONS);
	pb_enc_u64(e, PB_DEBUG_ANNOTATION_NAME_IID, annotation + 1);
}

static void add_number(struct pb_enc *e, unsigned arg, char letter, uint64_t value)
{
	open_annotation_of_call(e, arg);
	switch (letter) {
	case CALL_INT:
	case CALL_FD:
	case CALL_DIR_FD:
		pb_enc_i64(e, PB_DEBUG_ANNOTATION_INT_VALUE, (int32_t)value);
		break;
	case CALL_LONG:
		pb_enc_i64(e, PB_DEBUG_ANNOTATION_INT_VALUE, (int64_t)value);
		break;
	default:
		pb_enc_u64(e, PB_DEBUG_ANNOTATION_UINT_VALUE, value);
	}
	pb_enc_close(e);
}

static void add_arguments(struct calls_session *s, struct pb_enc *e, const struct call_record *r,
			  const struct call_row *row, const struct calls_pieces *pieces)
{
	unsigned n = row ? (unsigned)strlen(row->args) : CALL_ARGS;
	bool is_cut;

	for (unsigned i = 0; i < n; i++) {
		if (!row || !format_argument_text(s, row, i, pieces, &is_cut)) {
			add_number(e, i, row ? row->args[i] : CALL_HEX, r->args[i]);
			continue;
		}
		open_annotation_of_call(e, i);
		pb_enc_bytes(e, PB_DEBUG_ANNOTATION_STRING_VALUE, s->text.s ?: "", s->text.len);
		pb_enc_close(e);
		if (is_cut)
			add_number(e, CUT, CALL_INT, i);
	}
}

/* Returns the index of the call's spec (bpf/calls.h). */
static uint32_t find_spec_index(const struct call_record *r)
{
	if (r->number < 0 || r->number >= CALLS_NUMBERS)
		return CALLS_OTHER;
	return (uint32_t)r->number + (r->flags & CALL_IS_COMPAT ? CALLS_COMPAT : 0);
}

static void calls_packets_format_name(const struct call_record *r,
				      char ret[static SYSCALL_NAME_MAX + 4])
{
	char name[SYSCALL_NAME_MAX] = "";

	if (r->flags & CALL_IS_COMPAT)
		syscall_compat_name((uint32_t)r->number, name, sizeof(name) - 1);
	else
		syscall_name(NULL, (uint32_t)r->number, name);
	if (*name)
		snprintf(ret, SYSCALL_NAME_MAX + 4, "sys_%s", name);
	else
		snprintf(ret, SYSCALL_NAME_MAX + 4, "sys_%d", r->number);
}

static struct pb_enc *begin_event(struct calls_session *s, uint64_t time, unsigned type,
				  uint64_t track)
{
	struct pb_enc *e = writer_begin(s->writer);

	pb_enc_u64(e, PB_TRACE_PACKET_TIMESTAMP, time);
	pb_enc_u64(e, PB_TRACE_PACKET_SEQUENCE_FLAGS, STATE_NEEDED);
	pb_enc_open(e, PB_TRACE_PACKET_TRACK_EVENT);
	pb_enc_u64(e, PB_TRACK_EVENT_TYPE, type);
	pb_enc_u64(e, PB_TRACK_EVENT_TRACK_UUID, track);
	return e;
}

/* Defines the call's name as interned data, in a packet of its own, unless the sequence has defined
 * it. Its iid is index + 1. */
static void intern_name(struct calls_session *s, const struct call_record *r, uint32_t index)
{
	char name[SYSCALL_NAME_MAX + 4];
	struct pb_enc *e;

	if (index == CALLS_OTHER || s->names_written[index] == s->generation)
		return;
	s->names_written[index] = s->generation;
	calls_packets_format_name(r, name);
	e = writer_begin(s->writer);
	pb_enc_u64(e, PB_TRACE_PACKET_TIMESTAMP, r->since);
	pb_enc_u64(e, PB_TRACE_PACKET_SEQUENCE_FLAGS, STATE_NEEDED);
	pb_enc_open(e, PB_TRACE_PACKET_INTERNED_DATA);
	pb_enc_open(e, PB_INTERNED_DATA_EVENT_NAMES);
	pb_enc_u64(e, PB_INTERNED_STRING_IID, index + 1);
	pb_enc_str(e, PB_INTERNED_STRING_STR, name);
	pb_enc_close(e);
	pb_enc_close(e);
	writer_end(s->writer);
}

static void calls_packets_write_call(struct calls_session *s, struct calls_thread *t,
				     const struct call_record *r, const struct calls_pieces *pieces)
{
	uint32_t index = find_spec_index(r);
	char name[SYSCALL_NAME_MAX + 4];
	struct pb_enc *e;
	uint64_t track;

	calls_packets_ensure_state(s);
	track = calls_packets_get_track(s, t, r);
	intern_name(s, r, index);
	e = begin_event(s, r->since, SLICE_BEGIN, track);
	if (index != CALLS_OTHER) {
		pb_enc_u64(e, PB_TRACK_EVENT_NAME_IID, index + 1);
	} else {
		calls_packets_format_name(r, name);
		pb_enc_str(e, PB_TRACK_EVENT_NAME, name);
	}
	add_arguments(s, e, r, s->rows[index], pieces);
	if (!(r->flags & (CALL_NEVER_RETURNED | CALL_STILL_RUNS)))
		add_number(e, RET, CALL_LONG, (uint64_t)r->result);
	if (r->inode) {
		add_number(e, INODE, CALL_HEX, r->inode);
		add_number(e, DEVICE, CALL_HEX, makedev(r->dev >> 20, r->dev & 0xfffff));
	}
	if (r->flags & CALL_IS_COMPAT) {
		open_annotation_of_call(e, COMPAT);
		pb_enc_bool(e, PB_DEBUG_ANNOTATION_BOOL_VALUE, true);
		pb_enc_close(e);
	}
	pb_enc_close(e);
	writer_end(s->writer);
	s->n_written++;
	if (r->flags & CALL_STILL_RUNS)
		return;
	e = begin_event(s, r->until, SLICE_END, track);
	pb_enc_close(e);
	writer_end(s->writer);
}

/* Publishes which program a process executes, unless another source reports that. */
static void publish_exec(struct calls_session *s, const struct call_record *r,
			 const struct calls_pieces *of)
{
	const struct call_row *row = s->rows[find_spec_index(r)];
	struct metadata_task task = {.time_ns = r->until,
				     .tid = (int32_t)r->head.tgid,
				     .kind = METADATA_TASK_EXEC,
				     .awaits_start = true};
	const struct metadata_batch batch = {.tasks = &task, .n_tasks = 1};
	int path = row && strchr(row->args, CALL_ARGV) ? call_row_path(row) : -1;
	const uint8_t *bytes;
	struct call_piece p;

	if (path < 0 || r->result != 0 || r->flags & (CALL_NEVER_RETURNED | CALL_STILL_RUNS) ||
	    !s->is_publisher || !metadata_bus_has_subscriber(s->bus, ds_session_id(s->h)) ||
	    metadata_bus_is_complete(s->bus, ds_session_id(s->h)))
		return;
	for (size_t at = 0; (bytes = next_piece(of->bytes[0], of->n[0], &at, &p));)
		if (p.arg == path) {
			task.file = (const char *)bytes;
			task.file_len = p.len;
		}
	metadata_bus_publish(s->bus, ds_session_id(s->h), &batch);
}

/* Copies the pieces of a call that has begun to its thread, or counts them as lost if memory runs
 * out. */
static void store_pieces(struct calls_session *s, const struct call_head *h, const uint8_t *bytes)
{
	struct calls_thread *t = calls_thread_get(s, h);

	if (!t || array_reserve(&t->pieces, &t->cap_pieces, h->n_bytes, 1) < 0) {
		s->n_texts_lost++;
		return;
	}
	memcpy(t->pieces, bytes, h->n_bytes);
	t->n_pieces = h->n_bytes;
	t->sequence = h->sequence;
}

/* Writes a call with the pieces of its begin, if its thread has them, and those of its end. bytes:
 * the pieces of the record, of r->head.n_bytes. */
static void write_record(struct calls_session *s, const struct call_record *r, const uint8_t *bytes)
{
	struct calls_thread *t = calls_thread_get(s, &r->head);
	struct calls_pieces pieces = {.bytes = {NULL, bytes}, .n = {0, r->head.n_bytes}};

	if (t && t->n_pieces && t->sequence == r->head.sequence) {
		pieces.bytes[0] = t->pieces;
		pieces.n[0] = t->n_pieces;
	}
	calls_packets_write_call(s, t, r, &pieces);
	publish_exec(s, r, &pieces);
	if (t)
		t->n_pieces = 0;
}

void calls_packets_add_record(struct calls_session *s, const void *record, size_t size)
{
	const uint8_t *bytes = record;
	struct call_record r;

	if (size < sizeof(r.head))
		return;
	memcpy(&r.head, bytes, sizeof(r.head));
	if (r.head.type == CALL_BEGUN && r.head.n_bytes == size - sizeof(r.head)) {
		store_pieces(s, &r.head, bytes + sizeof(r.head));
	} else if (r.head.type == CALL_ENDED && size >= sizeof(r) &&
		   r.head.n_bytes == size - sizeof(r)) {
		memcpy(&r, bytes, sizeof(r));
		write_record(s, &r, bytes + sizeof(r));
	} else {
		s->n_texts_lost++;
	}
}

void calls_packets_write_open_call(struct calls_session *s, const struct call_record *r)
{
	write_record(s, r, NULL);
}

/* ---- losses and cost ---- */

void calls_packets_write_stats(struct calls_session *s)
{
	const struct calls_counts *c = &s->counts;
	const struct {
		uint32_t field;
		uint64_t value;
	} values[] = {
		{PB_SYSCALLS_STATS_CALLS, s->n_written},
		{PB_SYSCALLS_STATS_RING_FULL, c->lost.ring_full},
		{PB_SYSCALLS_STATS_NO_BEGIN, c->lost.no_slot},
		{PB_SYSCALLS_STATS_TEXTS_LOST, c->lost.texts_lost + s->n_texts_lost},
		{PB_SYSCALLS_STATS_TEXTS_ABSENT, c->lost.texts_absent},
		{PB_SYSCALLS_STATS_CHILDREN_LOST, c->lost.children_lost},
	};
	struct pb_enc *e = writer_begin(s->writer);

	pb_enc_u64(e, PB_TRACE_PACKET_TIMESTAMP, clock_boot_ns());
	pb_enc_u64(e, PB_TRACE_PACKET_TIMESTAMP_CLOCK_ID, CLOCK_BOOTTIME_ID);
	pb_enc_open(e, PB_TRACE_PACKET_SYSCALLS_STATS);
	if (s->refusal)
		pb_enc_str(e, PB_SYSCALLS_STATS_ERROR, s->refused.text);
	for (size_t i = 0; i < ARRAY_SIZE(values); i++)
		if (values[i].value)
			pb_enc_u64(e, values[i].field, values[i].value);
	if (c->measured_ns) {
		pb_enc_u64(e, PB_SYSCALLS_STATS_MACHINE_PPM,
			   (uint64_t)(1e6 * (double)c->run_ns / (double)c->measured_ns));
		pb_enc_u64(e, PB_SYSCALLS_STATS_RUN_NS, c->run_ns / MAX(c->runs, 1u));
	}
	pb_enc_close(e);
	writer_end(s->writer);
	ebpf_errors_write_missed("linux.syscalls", c->missed_programs, s->writer);
}
