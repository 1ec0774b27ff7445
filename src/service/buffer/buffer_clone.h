/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

/* Copies a trace buffer in time slices. Internal: only service/buffer includes this header. The
 * public part is trace_buffer_clone(). */

struct tb_clone;
struct tb_seqs;
struct trace_buffer;

#define TB_STEP_BYTES 256u /* copied in one step */

/* Copies, and reduces *steps by the steps taken. Afterwards the clone may be complete, or given up
 * because memory is out. In both cases neither buffer has a clone any more. */
void tb_clone_step(struct tb_clone *c, size_t *steps);
/* Ends the clone from or into this buffer, if any: the buffer is about to be freed. */
void tb_clone_leave(struct trace_buffer *b);
/* Returns the sequences of the buffer; while it is being copied into, those of the source. */
const struct tb_seqs *tb_clone_sequences(const struct trace_buffer *b);
