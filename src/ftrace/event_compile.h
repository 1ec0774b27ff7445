/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ftrace/event_row.h"

struct tep_event;

/*
 * Makes rows from the kernel's formats (as libtraceevent parsed them) and our messages. A field
 * that the kernel no longer has, or that fits nothing in the message, is left out; the event stays.
 *
 * All functions: 0 with *ret, one allocation that the caller frees; -ENOMEM; -EPROTO: no record of
 * this format could be told from another, or the format is not what the row needs.
 */

/* The place of an event without a message in this session. */
struct compile_generic {
	uint32_t number; /* of its field in FtraceEvent */
	uint16_t index; /* counts them */
	bool legacy; /* GenericFtraceEvent; number and index are not used */
};

/* An event that proto_table knows. max_text: the longest string that a pointer can lead to. */
int event_compile_known(const struct tep_event *event, size_t max_text, struct event_row **ret);
int event_compile_generic(const struct tep_event *event, const struct compile_generic *generic,
			  size_t max_text, struct event_row **ret);
/* sched_switch and sched_waking as columns of CompactSched; -EPROTO unless each field is just as
 * these columns take it. kind: ROW_COMPACT_SWITCH or ROW_COMPACT_WAKING. */
int event_compile_compact(const struct tep_event *event, enum row_kind kind,
			  struct event_row **ret);
