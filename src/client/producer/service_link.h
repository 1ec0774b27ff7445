/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/loop/io_loop.h"
#include "client/transport/channel.h"

/* A producer's connection to a service once the port is bound: the shared memory, commits, commands
 * of the service, and replies of data sources. Created by service_producer.c. */
struct arbiter;
struct service_link;

/* The owner of the data sources. Messages are serialized, and borrowed during a call. */
struct service_sources {
	unsigned max; /* indexes are below it; at most SERVICE_SOURCES_MAX */
	/* Sets *ret to the DataSourceDescriptor of a source, which the caller frees, and
	 * *ret_version to a number other than 0 that changes with it. Returns 0, -ENOENT or
	 * -ENOMEM. */
	int (*describe)(void *ctx, unsigned index, uint32_t *ret_version, void **ret,
			size_t *ret_len);
	/* A connection begins; instances may use it and its arbiter until the end. Returns 0 or
	 * -errno. */
	int (*begin)(void *ctx, struct service_link *link);
	/* It ends. All instances must end at once, and free their writers. */
	void (*end)(void *ctx);
	/* Commands. Each start, stop and flush must be answered by service_link_report_started()
	 * and so on. Setup and start return 0, or -ENOMEM, which ends the connection. */
	int (*setup)(void *ctx, uint64_t id, const void *config, size_t len);
	int (*start)(void *ctx, uint64_t id, const void *config, size_t len);
	void (*stop)(void *ctx, uint64_t id);
	void (*flush)(void *ctx, const uint64_t *ids, size_t n, uint64_t request, uint64_t flags);
	void (*clear)(void *ctx, const uint64_t *ids, size_t n);
};

#define SERVICE_SOURCES_MAX 64

struct service_link {
	struct io_loop *loop; /* borrowed */
	const struct service_sources *sources; /* borrowed */
	void *sources_ctx;
	void (*on_trouble)(void *ctx, const char *sentence); /* may be NULL */
	void *ctx; /* argument of on_trouble */
	bool one_thread; /* see struct service_producer_options */
	/* of the connection: */
	struct channel *channel; /* owned; NULL: none */
	struct arbiter *arbiter; /* owned; NULL until the port is bound */
	bool emulated; /* no shared memory: chunks are sent through the socket */
	bool has_own_memory; /* the service uses memory that the producer passed */
	struct io_task want_commit; /* a commit soon */
	struct io_task must_commit; /* a commit at once */
	struct io_timer commit;
};

/* ---- answers to commands ---- */

void service_link_report_started(struct service_link *l, uint64_t id);
/* Commits the data of the instance first. */
void service_link_report_stopped(struct service_link *l, uint64_t id);
void service_link_report_flushed(struct service_link *l, uint64_t request);
/* Sends a CommitDataRequest that contains the chunks themselves. Returns 0 or -errno. */
int service_link_commit(struct service_link *l, const void *request, size_t len);

/* ---- for service_producer.c ---- */

/* Initializes a link and its callbacks for commits. */
void service_link_init(struct service_link *l);
/* Creates the arbiter, for the channel. Returns 0 or -ENOMEM. */
int service_link_begin(struct service_link *l);
/* Frees the arbiter and closes the channel. All instances have ended. */
void service_link_end(struct service_link *l);
/* Executes a command: a serialized GetAsyncCommandResponse. Ignores a malformed one. Returns 0, or
 * -errno if the connection cannot be used any more, which is reported. */
int service_link_execute(struct service_link *l, const void *response, size_t len);
/* Formats one sentence for on_trouble. */
void service_link_report(struct service_link *l, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
