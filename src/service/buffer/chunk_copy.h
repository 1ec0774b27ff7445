/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns true if this CPU has non-temporal stores, with which tb_intake() fills large rings. */
bool copy_far_is_there(void);

/* The only code that reads memory which producers can change. Internal: only service/buffer
 * includes it. */

struct trace_buffer;

enum tb_intake {
	TB_INTAKE_OK,
	TB_INTAKE_SHORT, /* the source ends within the fragment */
	TB_INTAKE_ABORTED, /* the writer dropped the packet */
	TB_INTAKE_TOO_LARGE, /* for the ring */
	TB_INTAKE_FULL, /* TRACE_BUFFER_DISCARD */
};

/*
 * Copies n fragments behind the write cursor, after room for a record's header, and drops the old
 * records there. *ret_used: the bytes of whole fragments, also if not all of them are whole. The
 * cursor stays before the copy; the ring may have wrapped.
 */
enum tb_intake tb_intake(struct trace_buffer *b, const void *untrusted_src, size_t len, unsigned n,
			 size_t *ret_used);
