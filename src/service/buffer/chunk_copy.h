/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A copy to memory that is in no cache and is not looked at soon: whole lines are written past the
 * caches, where a plain store would read each of them first. To memory that is in a cache it costs
 * several times a memcpy, and so does reading what was just written.
 *
 * For this thread it is as a memcpy. Another one sees the bytes when it has seen what this one did
 * after it with a locked instruction (a lock, an atomic exchange), as a system call does too.
 */

/* Is there such a copy on this processor? Otherwise copy_nontemporal is memcpy. */
bool copy_far_is_there(void);

/* Best where dst begins and ends with lines of COPY_FAR_LINE bytes; src should be in the caches. */
#define COPY_FAR_LINE 64u
void copy_nontemporal(uint8_t *dst, const uint8_t *src, size_t len);

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
