/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/cut/cut_reader.h"

/* What a packet is to the parts of a trace. */
enum cut_kind {
	CUT_NOTHING, /* in none: it only has state of its sequence, or marks a place in the file */
	CUT_EVENT, /* in the part of its time */
	CUT_BUNDLE, /* kernel events: each in the part of its time */
	CUT_STATE, /* in all parts: the config, the machine, tracks */
	CUT_PROCESS_TREE, /* in the part of its time and those behind */
	CUT_SNAPSHOT, /* clocks: the first in all parts, others in that of their time */
};

enum cut_kind cut_kind_of(const struct cut_packet *c);

/* True for the service's event that tracing has started. Older kernel events become no rows. */
bool cut_is_start_of_tracing(const struct cut_packet *c);

/* True for a payload that becomes rows with a time: the trace begins with the first of them. */
bool cut_is_row(uint32_t payload);

/* True if a packet of this kind is the same as an earlier one only at the same time. */
bool cut_has_own_time(uint32_t payload);
