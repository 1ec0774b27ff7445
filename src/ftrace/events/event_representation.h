/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* How the trace represents a dynamic event that a session has made. */
enum event_represented_as {
	EVENT_AS_FIELDS, /* with a descriptor, whatever its name is */
	EVENT_AS_MESSAGE, /* as the kernel's event of that name */
	EVENT_AS_PROBE_BEGIN, /* as a KprobeEvent with that name and no other field */
	EVENT_AS_PROBE_END,
	EVENT_AS_PROBE_INSTANT,
};

struct event_representation {
	const char *group; /* as shown in the trace; tracefs has a group of the session */
	const char *name;
	enum event_represented_as as;
};
