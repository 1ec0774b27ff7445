/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/cut/cut_reader.h"

/* Returns which parts of a trace get the packet. */
enum cut_kind {
	CUT_NOTHING, /* none: it only has state of its sequence, or marks a place in the file */
	CUT_EVENT, /* the part of its time */
	CUT_BUNDLE, /* kernel events: for each event the part of its time */
	CUT_STATE, /* all parts: the config, the machine, tracks */
	CUT_PROCESS_TREE, /* the part of its time, those after it, and those shortly before it */
	/* Clocks. The first snapshot: all parts; others: the part of their time. Each part begins
	 * with the last snapshot before it, too. */
	CUT_SNAPSHOT,
};

enum cut_kind cut_kind_of(const struct cut_packet *c);

/* Returns true for the service event tracing_started. Importers ignore kernel events before its
 * time. */
bool cut_is_start_of_tracing(const struct cut_packet *c);

/* Returns true for a payload that becomes rows with a time. The earliest of these and of the kernel
 * events is the start of the trace. */
bool cut_becomes_rows(uint32_t payload);

/* Returns true if packets with equal payloads are only duplicates if their times are equal, too. */
bool cut_has_own_time(uint32_t payload);
