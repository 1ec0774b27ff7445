/* SPDX-License-Identifier: Apache-2.0 */
#include "service/buffer/buffer_backlog.h"

#include <stdlib.h>

#include "service/buffer/buffer_clone.h"
#include "service/buffer/buffer_internal.h"

/*
 * While a clone is in progress, operations on the source are queued. When the clone is complete
 * they are carried out in their order:
 *
 *	clone in progress  -->  backlog | commit | patches | commit |  -->  not held
 *	                                  ^ carried out first     ^ new ones
 *
 * Each operation that is queued also copies PAID times its size for the clone. So the backlog stays
 * below 1/PAID of the clone's size. Afterwards the backlog is emptied faster than it is filled.
 */

#define PAID 4u
#define APPEND_STEPS 4096u /* steps of trace_buffer_append() itself, as many as of a clone */

enum kind { COMMIT, PATCHES, END_WRITER, BEGIN_READ, APPEND };

struct tb_operation {
	STAILQ_ENTRY(tb_operation) link;
	enum kind kind;
	bool flag; /* of a commit: complete; of patches: more */
	uint16_t producer_id, writer_id; /* not for a commit */
	size_t n; /* bytes of the payload, or number of patches */
	union {
		struct {
			struct trace_buffer_writer writer;
			struct smb_chunk_header header;
		};
		uint32_t chunk_id;
		struct {
			struct trace_buffer *from; /* owned */
			tb_place place; /* in `from`: everything before it is appended */
		};
	};
	_Alignas(struct trace_buffer_patch) uint8_t data[]; /* payload, or patches */
};

/* ---- queueing ---- */

/* Queues an operation. Returns NULL if the buffer is not held any more. */
static struct tb_operation *buffer_backlog_put(struct trace_buffer *b, enum kind kind,
					       const void *data, size_t len)
{
	size_t size = sizeof(struct tb_operation) + len;
	size_t steps = PAID * (1 + size / TB_STEP_BYTES);
	struct tb_operation *op;

	if (trace_buffer_settle(b, &steps))
		return NULL;
	op = malloc(size);
	if (!op) {
		trace_buffer_settle(b, NULL);
		return NULL;
	}
	*op = (struct tb_operation){.kind = kind};
	if (len > 0)
		memcpy(op->data, data, len);
	STAILQ_INSERT_TAIL(&b->backlog, op, link);
	return op;
}

bool tb_backlog_commit(struct trace_buffer *b, const struct trace_buffer_writer *writer,
		       const struct smb_chunk_header *header, const void *payload, size_t len,
		       bool complete)
{
	struct tb_operation *op = buffer_backlog_put(b, COMMIT, payload, len);

	if (!op)
		return false;
	op->writer = *writer;
	op->header = *header;
	op->n = len;
	op->flag = complete;
	return true;
}

bool tb_backlog_patches(struct trace_buffer *b, uint16_t producer_id, uint16_t writer_id,
			uint32_t chunk_id, const struct trace_buffer_patch *patches, size_t n,
			bool more)
{
	struct tb_operation *op = buffer_backlog_put(b, PATCHES, patches, n * sizeof(*patches));

	if (!op)
		return false;
	op->producer_id = producer_id;
	op->writer_id = writer_id;
	op->chunk_id = chunk_id;
	op->n = n;
	op->flag = more;
	return true;
}

bool tb_backlog_end_writer(struct trace_buffer *b, uint16_t producer_id, uint16_t writer_id)
{
	struct tb_operation *op = buffer_backlog_put(b, END_WRITER, NULL, 0);

	if (!op)
		return false;
	op->producer_id = producer_id;
	op->writer_id = writer_id;
	return true;
}

bool tb_backlog_begin_read(struct trace_buffer *b)
{
	return buffer_backlog_put(b, BEGIN_READ, NULL, 0);
}

void trace_buffer_append(struct trace_buffer *to, struct trace_buffer *from)
{
	struct tb_operation *op = malloc(sizeof(*op));
	size_t steps = APPEND_STEPS;
	tb_place place = 0;

	if (!op) {
		size_t all = SIZE_MAX;

		trace_buffer_settle(from, NULL);
		trace_buffer_settle(to, NULL);
		tb_append_some(to, from, &place, &all);
		trace_buffer_free(from);
		return;
	}
	*op = (struct tb_operation){.kind = APPEND, .from = from, .place = 0};
	STAILQ_INSERT_TAIL(&to->backlog, op, link);
	to->held = true;
	trace_buffer_settle(to, &steps);
}

/* ---- carrying out ---- */

static void operation_free(struct tb_operation *op)
{
	if (op->kind == APPEND)
		trace_buffer_free(op->from);
	free(op);
}

/* Returns true if the operation is complete. */
static bool do_operation(struct trace_buffer *b, struct tb_operation *op, size_t *steps)
{
	/* The ring of `from` must have all its data first. */
	if (op->kind == APPEND)
		return trace_buffer_settle(op->from, steps) &&
		       tb_append_some(b, op->from, &op->place, steps);
	*steps -= MIN(*steps, 1 + op->n / TB_STEP_BYTES);
	switch (op->kind) {
	case COMMIT:
		trace_buffer_commit(b, &op->writer, &op->header, op->data, op->n, op->flag);
		break;
	case PATCHES:
		trace_buffer_apply_patches(b, op->producer_id, op->writer_id, op->chunk_id,
					   (const struct trace_buffer_patch *)op->data, op->n,
					   op->flag);
		break;
	case END_WRITER:
		trace_buffer_end_writer(b, op->producer_id, op->writer_id);
		break;
	case BEGIN_READ:
		trace_buffer_begin_read(b);
		break;
	case APPEND:
		break;
	}
	return true;
}

/* Clears `held` during the operation, which would be queued again otherwise. */
static void do_next(struct trace_buffer *b, size_t *steps)
{
	struct tb_operation *op = STAILQ_FIRST(&b->backlog);

	b->held = false;
	if (do_operation(b, op, steps)) {
		STAILQ_REMOVE_HEAD(&b->backlog, link);
		operation_free(op);
	}
	b->held = tb_backlog_is_there(b);
}

bool trace_buffer_settle(struct trace_buffer *b, size_t *steps)
{
	size_t all = SIZE_MAX;

	if (!steps)
		steps = &all;
	while (b->held && *steps > 0) {
		if (b->clone)
			tb_clone_step(b->clone, steps);
		else
			do_next(b, steps);
	}
	return !b->held;
}

bool trace_buffer_is_held(const struct trace_buffer *b)
{
	return b->held;
}

void tb_backlog_drop(struct trace_buffer *b)
{
	struct tb_operation *op;

	while ((op = STAILQ_FIRST(&b->backlog))) {
		STAILQ_REMOVE_HEAD(&b->backlog, link);
		operation_free(op);
	}
}
