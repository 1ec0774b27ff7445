/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ftrace/format/compiled_event.h"

struct tep_event;

/*
 * Compiles events from the kernel's formats (parsed by libtraceevent) and our messages.
 *
 * All functions return 0 with *ret (one allocation, which the caller frees), -ENOMEM, or -EPROTO
 * if records of the format could not be decoded or the format lacks a required field.
 */

/* The inputs of a compiled event other than its format. */
struct compile_context {
	size_t max_text; /* length of the longest string that a pointer can refer to */
	uint16_t index; /* generic_index of the event, if it needs a descriptor */
	const char *print_fmt; /* of the event (event_format.h) */
	bool symbols; /* function addresses get names */
};

/* Compiles an event that proto_events knows. Fields that its message lacks, or has with an
 * incompatible type, get field numbers from COMPILE_FURTHER upwards, which no message uses;
 * ev->further describes them. Numbers from COMPILE_EXTENSIONS upwards are fields that our messages
 * add to Perfetto's. */
#define COMPILE_FURTHER 1000u
#define COMPILE_EXTENSIONS 2000u
int event_compile_known(const struct tep_event *event, const struct compile_context *ctx,
			struct compiled_event **ret);

/* Compiles an event without a message of its own. number is the number of its field in FtraceEvent.
 * It becomes a GenericFtraceEvent if legacy is true, or if it has more fields than a descriptor
 * allows. */
int event_compile_generic(const struct tep_event *event, const struct compile_context *ctx,
			  uint32_t number, bool legacy, struct compiled_event **ret);
/* Compiles an event that only the metadata bus gets. Returns -EPROTO if it has no metadata
 * fields. */
int event_compile_metadata(const struct tep_event *event, struct compiled_event **ret);
/* Compiles an event to a KprobeEvent, which has the event's name and the arguments of the probe.
 * type is a value of KprobeEvent.KprobeType. */
int event_compile_probe(const struct tep_event *event, unsigned type, struct compiled_event **ret);
/* Compiles sched_switch or sched_waking to columns of CompactSched. Returns -EPROTO unless each
 * field has exactly the type of its column. kind: COMPILED_COMPACT_... or COMPILED_SUBJECT_... */
int event_compile_compact(const struct tep_event *event, enum compiled_kind kind,
			  struct compiled_event **ret);
