/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

/* A copy of a trace buffer, in time slices. Internal: only service/buffer includes it. The public
 * half is trace_buffer_clone(). */

struct tb_clone;
struct tb_seqs;
struct trace_buffer;

#define TB_STEP_BYTES 256u /* copied in one step */

/* Copies up to *steps, which it counts down. Afterwards the clone may be complete or, without
 * memory, given up: then neither buffer has one any more. */
void tb_clone_step(struct tb_clone *c, size_t *steps);
/* The buffer is about to be freed: ends the clone that it takes part in, if any. */
void tb_clone_leave(struct trace_buffer *b);
/* Returns the sequences of the buffer; while it is being copied into, those of the source. */
const struct tb_seqs *tb_clone_sequences(const struct trace_buffer *b);
