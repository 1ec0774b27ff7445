// SPDX-License-Identifier: Apache-2.0
#include "analyze/ftrace_status.h"

/* In the order of protos/trace/ftrace/ftrace_stats.proto. */
static const char *const words[FTRACE_STATUSES] = {
	[0] = "no reason is told",
	[FTRACE_STATUS_OK] = "nothing is wrong",
	[2] = "reading failed",
	[3] = "a page came only in part",
	[4] = "a page header that makes no sense",
	[5] = "an event header that is cut off",
	[6] = "padding without a length",
	[7] = "padding whose length is cut off",
	[8] = "padding of an impossible length",
	[9] = "a time extension that is cut off",
	[10] = "a time stamp that is cut off",
	[11] = "an event whose length is cut off",
	[12] = "an event of length 0",
	[13] = "an event of an impossible length",
	[14] = "an event too short for its id",
	[15] = "an event longer than its page",
	[16] = "an event of the scheduler too short for its fields",
	[17] = "an event that is not as its format says",
};

const char *ftrace_status_words(uint64_t status)
{
	return status < FTRACE_STATUSES ? words[status]
					: "a reason that this version does not know";
}
