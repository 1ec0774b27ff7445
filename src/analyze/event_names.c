// SPDX-License-Identifier: Apache-2.0
/* The table is made from protos/trace/ftrace by tools/ftrace_names.awk. */

#include "analyze/event_names.h"

#include <stddef.h>

#include "base/core/mem.h"

static const struct event_name names[] = {
#include "gen/ftrace_names.h"
};

const struct event_name *event_name_of(uint32_t field)
{
	if (field >= ARRAY_SIZE(names) || !names[field].name)
		return NULL;
	return &names[field];
}

uint32_t event_names_end(void)
{
	return ARRAY_SIZE(names);
}
