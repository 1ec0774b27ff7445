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

/* Returns the maximum number of bytes that the fields of one record need, without the variable
 * lengths that ev->n_var counts. */
size_t event_legacy_max_size(const struct compiled_event *ev);

/* Writes the content of the message. Used by event_encode. */
uint8_t *event_encode_legacy(const struct compiled_event *ev, const struct ring_record *r,
			     struct encode_ctx *ctx, uint8_t *p);
/* Writes the content of a KprobeEvent: the part that is the same in all records, and the arguments
 * as fields of that message. Used by event_encode(). */
uint8_t *event_encode_probe(const struct compiled_event *ev, const struct ring_record *r,
			    struct encode_ctx *ctx, uint8_t *p);
