/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Publish and subscribe within one tracing session, between data sources that do not know each
 * other. linux.ftrace and linux.perf publish events of tasks; linux.process_stats subscribes. A
 * subscriber gets the batches of its own session only.
 *
 *	         subscriber                     publisher
 *	create   subscribe                      register
 *	start                                   collects if metadata_bus_has_subscriber()
 *	         callback <-------------------- publish, after each read of the rings
 *	flush    waits while a publisher is busy   set_busy(true) ... publish ... set_busy(false)
 *	stop     waits until none is registered    publishes the rest, unregister
 */
struct metadata_bus;

enum metadata_task_kind {
	METADATA_TASK_NEW, /* starts; has the name of its creator */
	METADATA_TASK_RENAMED,
	METADATA_TASK_EXEC, /* executes another program: file */
	METADATA_TASK_ENDED, /* another thread of its process may still take over its id */
};

struct metadata_task {
	uint64_t time_ns; /* CLOCK_BOOTTIME; 0: unknown */
	int32_t tid;
	int32_t other; /* NEW: its creator. EXEC: its previous id, if it changed */
	uint8_t kind; /* enum metadata_task_kind */
	bool is_thread; /* NEW: of its creator's process, else a process of its own */
	bool is_sibling; /* NEW: a child of its creator's parent */
	bool awaits_start; /* not NEW: another publisher may report its start, with its parent */
	uint32_t file_len; /* EXEC */
	union {
		char name[16]; /* NEW, RENAMED: up to the first NUL; bytes chosen by the task */
		const char *file; /* EXEC: the path as given to execve; not NUL-terminated */
	};
};

/* Everything seen since the previous batch. The memory is valid during the callback only. Tasks are
 * in order of time, across batches too, unless more happened than the publisher could hold. */
struct metadata_batch {
	const struct metadata_task *tasks;
	size_t n_tasks;
	const int32_t *tids; /* tasks that ran or were woken, each of them once */
	size_t n_tids;
	uint64_t lost; /* number of dropped tasks */
};

/* Receives a batch. An empty batch reports that a publisher is no longer busy, begins or ceases to
 * report all events, or has unregistered. */
typedef void (*metadata_subscriber_fn)(void *ctx, const struct metadata_batch *batch);

struct metadata_bus *metadata_bus_new(void);
/* Frees the bus. All subscribers and publishers must have left. Returns NULL. */
struct metadata_bus *metadata_bus_free(struct metadata_bus *f);

/* Adds a subscriber. Returns 0, -EEXIST (same session and ctx) or -ENOMEM. */
int metadata_bus_subscribe(struct metadata_bus *f, uint64_t session_id, metadata_subscriber_fn fn,
			   void *ctx);
void metadata_bus_unsubscribe(struct metadata_bus *f, uint64_t session_id, void *ctx);

/* Returns true if the session has a subscriber. Without one a publisher need not collect. */
bool metadata_bus_has_subscriber(const struct metadata_bus *f, uint64_t session_id);
/* Calls every subscriber of the session. A subscriber handles tasks first, then tids. */
void metadata_bus_publish(struct metadata_bus *f, uint64_t session_id,
			  const struct metadata_batch *batch);

/* Registers a publisher: until it unregisters there may be batches. Returns 0, -EEXIST or
 * -ENOMEM. */
int metadata_bus_register(struct metadata_bus *f, uint64_t session_id, void *publisher);
void metadata_bus_unregister(struct metadata_bus *f, uint64_t session_id, void *publisher);
/* Sets whether the publisher is busy: it is going to publish data that a flush needs. A flush waits
 * until no publisher is busy. */
void metadata_bus_set_busy(struct metadata_bus *f, uint64_t session_id, void *publisher, bool busy);
/* complete: whether the publisher reports all events of tasks from now on, or only those that it
 * happens to see. Initially false. */
void metadata_bus_set_complete(struct metadata_bus *f, uint64_t session_id, void *publisher,
			       bool complete);
/* Returns true if a publisher of the session reports all events of tasks. */
bool metadata_bus_is_complete(const struct metadata_bus *f, uint64_t session_id);
/* Call when the publisher has published all events that are older than ns (CLOCK_BOOTTIME). */
void metadata_bus_set_published_until(struct metadata_bus *f, uint64_t session_id, void *publisher,
				      uint64_t ns);
/* Returns the time (CLOCK_BOOTTIME, ns) up to which a publisher has published; 0: there is none.
 * complete: only publishers that report all events count. */
uint64_t metadata_bus_published_until(const struct metadata_bus *f, uint64_t session_id,
				      bool complete);
bool metadata_bus_has_publisher(const struct metadata_bus *f, uint64_t session_id);
bool metadata_bus_is_busy(const struct metadata_bus *f, uint64_t session_id);
