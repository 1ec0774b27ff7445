/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "ftrace/encode/field_value.h"

/*
 * The older encoding of events without a message: GenericFtraceEvent, which repeats the names of
 * the event and of each field in every event (denser_generic_event_encoding: false). Integers are
 * int_value or uint_value, strings str_value. It has no type for bytes: they become a str_value of
 * hexadecimal digits.
 */

/*
 * Returns the most bytes that the fields of one record need, without the variable lengths that
 * ev->n_var counts.
 */
size_t event_legacy_max_size(const struct compiled_event *ev);

/*
 * Encodes one record as an `event` field of a FtraceEventBundle, by its compiled event. The output
 * has room for the largest result, so only offsets and lengths that the record contains are
 * checked.
 */

/* Returns the most bytes that event_encode writes. */
static inline size_t event_encode_bound(const struct compiled_event *ev, uint32_t len)
{
	return ev->fixed_bound + (size_t)ev->n_var * len;
}

/* The record has at least ev->min_len bytes. Returns the end of the output. */
uint8_t *event_encode(const struct compiled_event *ev, const struct ring_record *r,
		      struct encode_ctx *ctx, uint8_t *p);
