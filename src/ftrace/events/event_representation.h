/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* How the trace tells an event that a session has made itself, as a probe. */
enum event_represented_as {
	EVENT_AS_FIELDS, /* with a descriptor, whatever its name is */
	EVENT_AS_MESSAGE, /* as the kernel's own event of that name */
	EVENT_AS_PROBE_BEGIN, /* a KprobeEvent with that name, and nothing else */
	EVENT_AS_PROBE_END,
	EVENT_AS_PROBE_INSTANT,
};

struct event_representation {
	const char *group; /* not that of tracefs, which is the session's own */
	const char *name;
	enum event_represented_as as;
};
