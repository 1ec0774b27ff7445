/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

/* The only place that reads what producers can change. Internal: only trace_buffer*.c includes
 * it. */

struct trace_buffer;

enum tb_intake {
	TB_INTAKE_OK,
	TB_INTAKE_SHORT, /* the source ends before the fragment does */
	TB_INTAKE_ABORTED, /* the writer dropped the packet */
	TB_INTAKE_TOO_LARGE, /* for the ring */
	TB_INTAKE_FULL, /* TRACE_BUFFER_DISCARD */
};

/*
 * Copies n fragments behind the write cursor, leaving room for a record's header in front, and
 * drops what lay there. *ret_used: the bytes of those that are whole, also if not all of them are.
 * The cursor stays in front of the copy, but it may have gone back to 0.
 */
enum tb_intake tb_intake(struct trace_buffer *b, const void *untrusted_src, size_t len, unsigned n,
			 size_t *ret_used);
