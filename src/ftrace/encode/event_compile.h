/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ftrace/format/compiled_event.h"

struct tep_event;

/*
 * Makes rows from the kernel's formats (as libtraceevent parsed them) and our messages.
 *
 * All functions: 0 with *ret, one allocation that the caller frees; -ENOMEM; -EPROTO: no record of
 * this format could be told from another, or the format is not what the row needs.
 */

/* What a row of an event depends on besides its format. */
struct compile_context {
	size_t max_text; /* the longest string that a pointer can lead to */
	uint16_t index; /* of the row, among those that have something to describe */
	const char *print_fmt; /* the event's; NULL: functions get no names (event_format.h) */
};

/*
 * An event that proto_events knows. Fields that its message does not have, or has in a form that
 * they do not fit, are written all the same, with numbers that no message will have: from
 * COMPILE_FURTHER on. ev->further describes them.
 */
#define COMPILE_FURTHER 1000u
int event_compile_known(const struct tep_event *event, const struct compile_context *ctx,
			struct compiled_event **ret);

/* An event without a message. number: of its field in FtraceEvent. legacy: GenericFtraceEvent,
 * which an event with more fields than a descriptor may have becomes in any case. */
int event_compile_generic(const struct tep_event *event, const struct compile_context *ctx,
			  uint32_t number, bool legacy, struct compiled_event **ret);
/* For its news alone; -EPROTO where it has none. */
int event_compile_feed(const struct tep_event *event, struct compiled_event **ret);
/* A KprobeEvent with the event's name, and its type as a number of KprobeEvent.KprobeType. */
int event_compile_probe(const struct tep_event *event, unsigned type, struct compiled_event **ret);
/* sched_switch and sched_waking as columns of CompactSched; -EPROTO unless each field is just as
 * these columns take it. kind: COMPILED_COMPACT_SWITCH or COMPILED_COMPACT_WAKING. */
int event_compile_compact(const struct tep_event *event, enum compiled_kind kind,
			  struct compiled_event **ret);
