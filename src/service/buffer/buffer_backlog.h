/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "service/buffer/buffer_record.h"
#include "service/buffer/trace_buffer.h"

/*
 * The queue of operations on a trace buffer that is held. Internal: only service/buffer includes
 * it.
 *
 * The tb_backlog_* functions that return bool are for a held buffer. Each first does a part of the
 * work for which the buffer is held. It returns true if the operation was queued. It returns false
 * if the buffer is not held any more; then the caller carries out the operation. If no memory is
 * left for the queue, all of the work is done first.
 */
bool tb_backlog_commit(struct trace_buffer *b, const struct trace_buffer_writer *writer,
		       const struct smb_chunk_header *header, const void *payload, size_t len,
		       bool complete);
bool tb_backlog_patches(struct trace_buffer *b, uint16_t producer_id, uint16_t writer_id,
			uint32_t chunk_id, const struct trace_buffer_patch *patches, size_t n,
			bool more);
bool tb_backlog_end_writer(struct trace_buffer *b, uint16_t producer_id, uint16_t writer_id);
bool tb_backlog_begin_read(struct trace_buffer *b);

void tb_backlog_drop(struct trace_buffer *b);

/* Part of trace_buffer_append(): continues at *place of `from`, for up to *steps. Returns true when
 * all of `from` is appended. */
bool tb_append_some(struct trace_buffer *to, struct trace_buffer *from, tb_place *place,
		    size_t *steps);
