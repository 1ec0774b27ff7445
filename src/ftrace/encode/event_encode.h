/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "ftrace/encode/field_value.h"

/*
 * Encodes one record as an `event` field of a FtraceEventBundle, by its compiled event. The output
 * has room for the largest result, so only offsets and lengths that the record contains are
 * checked.
 */

/* Returns the maximum number of bytes that event_encode() writes. */
static inline size_t event_encode_max_bytes(const struct compiled_event *ev, uint32_t len)
{
	return ev->fixed_bound + (size_t)ev->n_var * len;
}

/* Encodes a record of at least ev->min_len bytes. Returns the end of the output. */
uint8_t *event_encode(const struct compiled_event *ev, const struct ring_record *r,
		      struct encode_ctx *ctx, uint8_t *p);
