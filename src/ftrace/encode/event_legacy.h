/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "ftrace/encode/event_encode.h"

/*
 * The older encoding of events without a message of their own: GenericFtraceEvent, which spells out
 * the event's and every field's name in every event (denser_generic_event_encoding: false).
 * Integers are int_value or uint_value, strings str_value; bytes, which it has no type for, are a
 * str_value of hexadecimal digits.
 */

/* The most bytes that the fields of one record take, but for the spans that ev->n_var counts. */
size_t event_legacy_bound(const struct compiled_event *ev);

/* Writes the message's content after its length. Used by event_encode. */
uint8_t *event_encode_legacy(const struct compiled_event *ev, const struct ring_record *r,
			     struct encode_ctx *ctx, uint8_t *p);
