/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/core/hash_table.h"
#include "base/core/mem.h"
#include "service/buffer/buffer_record.h"
#include "service/buffer/chunk_index.h"
#include "service/buffer/trace_buffer.h"

/*
 * The parts of a trace buffer. Internal: only service/buffer includes it.
 *
 *   ring       | A5 | B2 | A6 |  free  | A3 | free run | A4 | C9 | padding |
 *                ^    ^    ^    ^ wr     ^ old           ^
 *                |    |    |             |               |
 *   sequence A   refs: 3 4 5 6 (unread records by chunk id), last read: chunk 2, loss so far
 *   sequence B   refs: 2
 *
 * The ring holds the committed data in the order of the commits. A record is a chunk or a part of a
 * chunk, trimmed to whole fragments. It refers to its sequence. The sequence lists its unread
 * records in the order of chunk ids, which is nearly always the order in the ring.
 *
 * A commit copies a chunk once, to wr, and drops the oldest records to make room. The reader walks
 * the ring from the oldest record on. At each record it reads the record's sequence up to that
 * record, and further if a packet continues. Packets are returned as slices of the ring. A record
 * without unread data becomes a free run; adjacent free runs are skipped in one step.
 *
 * A file calls only those above it:
 *
 *   chunk_index.c        the array of refs
 *   buffer_sequences.c   sequences: by key, by slot, and those without records; removes records
 *                        from the head of a sequence and notes losses
 *   buffer_store.c       the ring: laps, free runs, room; the life of a buffer
 *   buffer_write.c       commits: finds the new part of a chunk, copies it into the ring and checks
 *                        the copy; patches
 *   buffer_read.c        reads packets
 *   buffer_clone.c       copies the buffer
 */

/* ---- sequences ---- */

/* The reason why a sequence cannot be read further. Reading skips it until tb_seq_wake(). */
enum tb_stall {
	TB_READY,
	TB_WAITS_FOR_PATCH,
	TB_WAITS_FOR_MORE, /* a chunk that was scraped may grow */
	TB_WAITS_FOR_NEXT, /* the packet continues in the next chunk */
};

struct tb_seq {
	uint32_t key; /* producer_id << 16 | writer_id */
	uint32_t slot;
	struct trace_buffer_writer writer;
	struct tb_refs refs;
	uint32_t begun; /* refs at the head that hold the start of a packet, but not its end */
	uint32_t loss; /* enum data_loss, since the last packet */
	enum tb_stall stall;
	bool ended; /* trace_buffer_end_writer() was called */
	bool unordered; /* some record in the ring may lie before that of the first ref */
	/* The last chunk that was read or dropped, and how much of it was committed: */
	bool has_last;
	bool last_complete;
	uint16_t last_frags, last_bytes;
	uint32_t last_id;
	uint32_t run_start; /* all ids from here to last_id were committed */
	/* The position in the ring at which the sequence last took room for its own memory
	 * (buffer_write.c); 0: it has taken none. */
	tb_position room_at;
	struct trace_buffer_histogram histogram;
	TAILQ_ENTRY(tb_seq) empty_link; /* while refs.n == 0 */
	UT_hash_handle hh; /* hh.tbl is NULL if a later writer has the key */
};
TAILQ_HEAD(tb_seq_list, tb_seq);

union tb_slot {
	struct tb_seq *seq; /* owned */
	uintptr_t next_free; /* number of the next free slot, times 2, plus 1: odd, unlike a
			      * pointer */
};

static inline bool tb_slot_is_free(union tb_slot slot)
{
	return slot.next_free & 1;
}

struct tb_seqs {
	struct tb_seq *by_key;
	union tb_slot *slots; /* slot 0 is not used */
	size_t n_slots, cap_slots;
	uintptr_t free_slot; /* 0: none */
	size_t n; /* number of sequences, with or without unread records */
	struct tb_seq_list empty; /* sequences in the order in which they became empty */
	size_t n_empty;
};

struct trace_buffer {
	struct tb_ring ring;
	struct tb_seqs seqs;
	enum trace_buffer_policy policy;
	bool refusing; /* TRACE_BUFFER_DISCARD: it has been full */
	size_t n_unread; /* records */
	tb_position
		cursor; /* of the reader: records before it are read, or their sequence stalls */
	/* The first position before the cursor whose sequence does not stall any more. */
	tb_position rewind;
	struct iovec *slices; /* slices of the last packet */
	size_t cap_slices;
	size_t work; /* steps taken by the current call of trace_buffer_next_packet() */
	struct trace_buffer_stats stats;
};

/* Returns how many bytes of records a buffer with TRACE_BUFFER_DISCARD still accepts. The number
 * never grows, although the ring reuses memory that was read. */
static inline size_t tb_room_left(const struct trace_buffer *b)
{
	return b->ring.size - (size_t)(b->stats.bytes_written + b->stats.padding_bytes_written);
}

/* ---- buffer_sequences.c ---- */

void tb_seqs_init(struct tb_seqs *t);
/* Frees all sequences, including those of an incomplete clone. */
void tb_seqs_deinit(struct tb_seqs *t);
/* If too many sequences are empty, frees those that have been empty for the longest time. */
void tb_seqs_evict_empty(struct tb_seqs *t);

struct tb_seq *tb_seq_find(const struct trace_buffer *b, uint16_t producer_id, uint16_t writer_id);
/* Returns the writer's sequence, or creates it; NULL: no memory. If another writer had the same ids
 * before, its sequence is ended and loses its key. */
struct tb_seq *tb_seq_get(struct trace_buffer *b, const struct trace_buffer_writer *writer);

static inline struct tb_seq *tb_seq_of(const struct trace_buffer *b, const struct tb_record *rec)
{
	return b->seqs.slots[rec->seq].seq;
}

static inline struct tb_record *tb_seq_record(const struct trace_buffer *b, const struct tb_seq *s,
					      uint32_t i)
{
	return tb_record_at(&b->ring, (size_t)tb_refs_at(&s->refs, i)->unit * TB_UNIT);
}

/* Inserts a ref to the record at `offset` of the ring as number i of the sequence. Returns 0 or
 * -ENOMEM. */
int tb_seq_insert(struct trace_buffer *b, struct tb_seq *s, uint32_t i, uint32_t chunk_id,
		  size_t offset);
/* Updates the ref of an unread record that was moved in the ring. */
void tb_seq_update_ref(struct trace_buffer *b, const struct tb_record *rec, size_t from, size_t to);
/* Ends a stall: what the sequence waits for may be there, or will not come any more. */
void tb_seq_wake(struct trace_buffer *b, struct tb_seq *s);

/* Call before the first fragment of the head record is used. Records a loss before it. From now on
 * chunks with lower ids are too late. */
void tb_seq_enter_head(struct tb_seq *s, const struct tb_record *rec);
/* Removes the sequence's first record. The rest of it, if any, is dropped. */
void tb_seq_finish_head(struct trace_buffer *b, struct tb_seq *s);
/* Drops all records of the sequence up to this one, whose space is needed. */
void tb_seq_drop_up_to(struct trace_buffer *b, struct tb_record *rec);

/* ---- buffer_store.c ---- */

/* Returns the first unread record at *position or after and sets *position to it; NULL at the end.
 * Joins the runs of free space before it. */
struct tb_record *tb_ring_find_unread(struct tb_ring *r, tb_position *position);
/* Drops the old records in [wr, limit), so that this range can be overwritten. */
void tb_ring_make_room(struct trace_buffer *b, size_t limit);
/* Wraps: continues at 0, and drops the remaining records of the previous lap. */
void tb_ring_wrap(struct trace_buffer *b);
/* Continues at 0 if (nearly) all records are read, without drops and padding. May move unread
 * records. */
void tb_ring_restart(struct trace_buffer *b);
