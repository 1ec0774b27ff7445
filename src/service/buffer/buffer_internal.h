/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sys/queue.h>

#include "base/core/hash_table.h"
#include "base/core/mem.h"
#include "service/buffer/trace_buffer.h"
#include "service/buffer/chunk_index.h"
#include "service/buffer/buffer_record.h"

/* The sequences of a trace buffer, and the buffer itself. Internal: only service/buffer includes
 * it. */

/* The reason why a sequence cannot be read further. Reading skips it until tb_seq_wake(). */
enum tb_stall {
	TB_READY,
	TB_WAITS_FOR_PATCH,
	TB_WAITS_FOR_REST, /* of a chunk that was scraped */
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
	bool ended; /* by trace_buffer_end_writer */
	bool unordered; /* in the ring, some record may lie before that of the first ref */
	/* The last chunk that was read or dropped, with what was committed of it: */
	bool has_last;
	bool last_complete;
	uint16_t last_frags, last_bytes;
	uint32_t last_id;
	uint32_t run_start; /* all ids from here to last_id were committed */
	tb_place paid; /* the place in the ring that it has taken (tb_seq_pay); 0: none */
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
	struct tb_seq_list empty; /* in the order in which they became empty */
	size_t n_empty;
};

struct trace_buffer {
	struct tb_ring ring;
	struct tb_seqs seqs;
	enum trace_buffer_policy policy;
	bool refusing; /* TRACE_BUFFER_DISCARD: it has been full */
	size_t n_unread; /* records */
	tb_place cursor; /* of the reader: records before it are read, or their sequence stalls */
	tb_place rewind; /* first place before the cursor whose sequence does not stall any more */
	struct iovec *slices; /* of the last packet */
	size_t cap_slices;
	size_t work; /* steps taken by the current call of trace_buffer_next_packet() */
	struct trace_buffer_stats stats;
};

/* Returns how many bytes of records a buffer with TRACE_BUFFER_DISCARD still accepts. The number
 * never grows, although the ring writes again to memory that was read. */
static inline size_t tb_room_left(const struct trace_buffer *b)
{
	return b->ring.size - (size_t)(b->stats.bytes_written + b->stats.padding_bytes_written);
}

void tb_histogram_add(struct trace_buffer_histogram *h, int64_t value);

/* ---- buffer_sequences.c: the table ---- */

struct tb_seq *tb_seq_find(const struct trace_buffer *b, uint16_t producer_id, uint16_t writer_id);
/* Returns the writer's sequence; creates it if there is none. NULL: no memory. */
struct tb_seq *tb_seq_get(struct trace_buffer *b, const struct trace_buffer_writer *writer);
/* Frees the sequences that have been empty for the longest time. */
void tb_seqs_collect(struct trace_buffer *b);
void tb_seqs_init(struct trace_buffer *b);
/* Frees all sequences, also those of an incomplete clone. */
void tb_seqs_deinit(struct trace_buffer *b);

static inline struct tb_seq *tb_seq_of(const struct trace_buffer *b, const struct tb_record *rec)
{
	return b->seqs.slots[rec->seq].seq;
}

/* Inserts a ref to the record at `offset` of the ring as number i of the sequence. Returns 0 or
 * -ENOMEM. */
int tb_seq_insert(struct trace_buffer *b, struct tb_seq *s, uint32_t i, uint32_t chunk_id,
		  size_t offset);
/* Updates the ref of an unread record that was moved in the ring. */
void tb_seq_moved(struct trace_buffer *b, const struct tb_record *rec, size_t from, size_t to);
/* Removes the first ref. The caller makes its record a free run. */
void tb_seq_pop(struct trace_buffer *b, struct tb_seq *s);
/* If there are very many sequences, takes room for the memory of this one at the write cursor of
 * the ring (the head of buffer_sequences.c). */
void tb_seq_pay(struct trace_buffer *b, struct tb_seq *s);
/* Ends a stall: what the sequence waits for may be there, or will not come any more. */
void tb_seq_wake(struct trace_buffer *b, struct tb_seq *s);

/* ---- buffer_read.c: removes records from the head of their sequence ---- */

static inline struct tb_record *tb_seq_record(const struct trace_buffer *b, const struct tb_seq *s,
					      uint32_t i)
{
	return tb_record_at(&b->ring, (size_t)tb_refs_at(&s->refs, i)->unit * TB_UNIT);
}

/* Drops all records of the sequence up to this one, whose space is needed. */
void tb_seq_overwrite(struct trace_buffer *b, struct tb_record *rec);
