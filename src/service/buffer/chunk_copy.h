/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* tb_chunk_copy() is the only code that reads the payload of a chunk in shared memory, which the
 * producer can change meanwhile. Internal: only service/buffer includes this header. */

struct trace_buffer;

enum tb_copy_result {
	TB_COPY_OK,
	TB_COPY_SHORT, /* the source ends within the fragment */
	TB_COPY_ABORTED, /* the writer dropped the packet */
	TB_COPY_TOO_LARGE, /* the fragments do not fit into the ring */
	TB_COPY_FULL, /* TRACE_BUFFER_DISCARD: the buffer has no room left */
};

/*
 * Copies n fragments to the write cursor, behind room for a record header, and drops the old
 * records there. *ret_used is the number of bytes of whole fragments, also after TB_COPY_SHORT
 * and TB_COPY_ABORTED. The write cursor is not advanced, but the ring may have wrapped.
 */
enum tb_copy_result tb_chunk_copy(struct trace_buffer *b, const void *untrusted_src, size_t len,
				  unsigned n, size_t *ret_used);
