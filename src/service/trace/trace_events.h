/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "config/limits.h"
#include "gen/fields.h"

/* Events of a session's life, kept until a reading pass writes them as TracingServiceEvent packets:
 * the newest of each kind, the newest 64 flushes, and one for each cloned buffer. */
enum service_event_kind {
	SERVICE_EVENT_ALL_STARTED = PB_TRACING_SERVICE_EVENT_ALL_DATA_SOURCES_STARTED,
	SERVICE_EVENT_TRACING_STARTED = PB_TRACING_SERVICE_EVENT_TRACING_STARTED,
	SERVICE_EVENT_ALL_FLUSHED = PB_TRACING_SERVICE_EVENT_ALL_DATA_SOURCES_FLUSHED,
	SERVICE_EVENT_READ_COMPLETED = PB_TRACING_SERVICE_EVENT_READ_TRACING_BUFFERS_COMPLETED,
	SERVICE_EVENT_TRACING_DISABLED = PB_TRACING_SERVICE_EVENT_TRACING_DISABLED,
	SERVICE_EVENT_SLOW_STARTING = PB_TRACING_SERVICE_EVENT_SLOW_STARTING_DATA_SOURCES,
	SERVICE_EVENT_SLOW_FLUSH = PB_TRACING_SERVICE_EVENT_LAST_FLUSH_SLOW_DATA_SOURCES,
	SERVICE_EVENT_CLONE_STARTED = PB_TRACING_SERVICE_EVENT_CLONE_STARTED,
	SERVICE_EVENT_BUFFER_CLONED = PB_TRACING_SERVICE_EVENT_BUFFER_CLONED, /* value: its index */
	SERVICE_EVENT_FLUSH_STARTED = PB_TRACING_SERVICE_EVENT_FLUSH_STARTED,
};

#define SERVICE_EVENT_FLUSH_EVENTS 64
#define SERVICE_EVENT_MAX (2 * SERVICE_EVENT_FLUSH_EVENTS + LIMIT_BUFFERS + 7)

struct service_event {
	uint64_t boot_ns;
	enum service_event_kind kind;
	uint32_t value; /* 1, or a value that depends on the kind */
};

/* The data sources of a slow event: a serialized TracingServiceEvent.DataSources. */
struct slow_sources {
	uint8_t *bytes; /* owned */
	size_t len;
};

struct service_events {
	struct service_event events[SERVICE_EVENT_MAX]; /* in the order of time */
	size_t n;
	struct slow_sources slow_starting, slow_flush;
};

void service_events_deinit(struct service_events *l);
void service_events_add(struct service_events *l, enum service_event_kind kind, uint64_t boot_ns);
/* Inserts the event in the order of time. */
void service_events_add_value(struct service_events *l, enum service_event_kind kind,
			      uint64_t boot_ns, uint32_t value);
/* Copies the events to `to`, which must be empty. Returns 0 or -ENOMEM. deinit may be called in
 * both cases. */
int service_events_copy(const struct service_events *from, struct service_events *to);
/* Adds an event of a slow kind; copies the bytes. Without memory the event is dropped. */
void service_events_add_sources(struct service_events *l, enum service_event_kind kind,
				uint64_t boot_ns, const void *bytes, size_t len);
void service_events_remove(struct service_events *l, enum service_event_kind kind);
void service_events_clear(struct service_events *l);
/* Returns the sources of an event of a slow kind, else NULL. */
const struct slow_sources *service_events_get_sources(const struct service_events *l,
						      enum service_event_kind kind);

/* enable_concurrent_session_events: state changes of other sessions of the service while this one
 * ran, kept until a reading pass writes them. */
struct concurrent_event {
	uint64_t boot_ns;
	uint64_t session_id;
	uint32_t state; /* ConcurrentSessionEvent.State */
	uid_t uid;
	uint32_t n_sources;
	char *name; /* owned once it is in a list; NULL: no name, or hidden from the reader */
};

struct concurrent_events {
	struct concurrent_event *list; /* owned; in the order of time */
	size_t n, cap;
};

/* Adds a copy of the event. Returns false if the list already has MAX_CONCURRENT_EVENTS. If memory
 * runs out, drops the event and returns true. */
bool concurrent_session_events_add(struct concurrent_events *c,
				   const struct concurrent_event *event);
void concurrent_session_events_clear(struct concurrent_events *c);
void concurrent_session_events_deinit(struct concurrent_events *c);

/* A trigger that a session acted on. */
struct received_trigger {
	uint64_t boot_ns;
	char *name, *producer; /* owned */
	uid_t uid; /* of the producer */
	uint64_t delay_ms;
};

/* Returns 0 or -ENOMEM. */
int received_trigger_copy(const struct received_trigger *from, struct received_trigger *ret);
void received_trigger_deinit(struct received_trigger *t);
