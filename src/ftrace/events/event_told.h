/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* How the trace tells an event that a session has made itself, as a probe. */
enum event_told_as {
	EVENT_TOLD_FIELDS, /* with a descriptor, whatever its name is */
	EVENT_TOLD_MESSAGE, /* as the kernel's own event of that name */
	EVENT_TOLD_PROBE_BEGIN, /* a KprobeEvent with that name, and nothing else */
	EVENT_TOLD_PROBE_END,
	EVENT_TOLD_PROBE_INSTANT,
};

struct event_told {
	const char *group; /* not that of tracefs, which is the session's own */
	const char *name;
	enum event_told_as as;
};
