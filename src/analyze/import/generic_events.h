/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analyze/import/importer.h"

/* Kernel events that sonda's FtraceEvent lacks: the trace describes them in store.generic. */

/* Finds an event by the number that the trace gave it. Returns the index in store.generic, or
 * NULL_U32. */
uint32_t generic_find(struct import *im, const struct machine *m, uint32_t number);
/* Adds an event. Takes g->fields over, also on failure. */
void generic_add(struct import *im, const struct machine *m, uint32_t number,
		 struct generic_event *g);
/* Finds the event of a GenericFtraceEvent, or adds it: these share one number, and each message has
 * the event's name. Returns the index, or NULL_U32 without memory. */
uint32_t generic_get_self_named(struct import *im, const struct machine *m,
				const struct pb_field *event);
void generic_deinit(struct import *im);
