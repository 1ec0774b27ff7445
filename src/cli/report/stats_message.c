// SPDX-License-Identifier: Apache-2.0
#include "cli/report/stats_message.h"

#include <stdlib.h>

#include "base/core/mem.h"

void stats_message_decode(const Pb__TraceStats *message, struct service_stats *ret)
{
	size_t len = pb__trace_stats__get_packed_size(message);
	_cleanup_(freep) uint8_t *bytes = malloc(len + 1);

	/* One decoder for the answer of the service and for the packets of a trace. */
	*ret = (struct service_stats){0};
	if (!bytes)
		return;
	pb__trace_stats__pack(message, bytes);
	service_stats_decode(bytes, len, ret);
}
