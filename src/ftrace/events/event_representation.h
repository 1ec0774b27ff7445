/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* How the trace represents a dynamic event that a session has made. */
enum event_represented_as {
	EVENT_AS_FIELDS, /* as a generic event with a descriptor, even if a message has its name */
	EVENT_AS_MESSAGE, /* with the message of the kernel's event of that name */
	EVENT_AS_PROBE_BEGIN, /* as a KprobeEvent: only its name and this type */
	EVENT_AS_PROBE_END,
	EVENT_AS_PROBE_INSTANT,
};

struct event_representation {
	const char *group; /* as shown in the trace; tracefs has a group of the session */
	const char *name;
	enum event_represented_as as;
};
