/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/producer/service_link.h"

/*
 * This process as a producer of one service: connects to it (retries with back-off and inotify,
 * reconnects after a loss), registers data sources, and passes the service's commands to the owner
 * of the data sources. All functions are for the loop's thread.
 *
 * When the connection is lost, all its instances end, and nothing is recorded until the next one.
 */
struct service_producer;

struct service_producer_options {
	struct io_loop *loop; /* borrowed */
	struct channel_target target; /* its address is copied; the first one of a list is used */
	const char *name; /* copied */
	uint32_t shm_size, shm_page_size; /* bytes */
	bool own_memory; /* the producer creates the shared memory, if the service accepts it */
	bool no_scraping; /* the service must not read uncommitted chunks */
	/* All writers are on the loop's thread: what one turn of the loop writes is committed in
	 * the next one, and urgent data at once. If false, data is collected for some
	 * milliseconds. */
	bool one_thread;
	const struct service_sources *sources; /* borrowed */
	void *sources_ctx;
	/* The callbacks may be NULL. */
	/* No service listens; the producer waits for one. Called once until the next connection. */
	void (*on_waiting)(void *ctx, const char *address);
	/* Before and after an attempt to connect. */
	void (*on_connecting)(void *ctx, bool begins);
	/* The service has accepted this process. knows_consumers: DataSourceConfig.consumer_uid is
	 * trustworthy. If this function is NULL, the service is not asked for that uid.
	 * service_pid: 0 if it is not known. */
	void (*on_accepted)(void *ctx, bool knows_consumers, int32_t service_pid);
	/* true: the service has registered all data sources. false: the connection is lost. */
	void (*on_connected)(void *ctx, bool connected);
	/* A problem in one sentence; the producer continues. The same connection error is reported
	 * only once until the next connection. */
	void (*on_trouble)(void *ctx, const char *sentence);
	void *ctx;
};

/* Begins to connect. Returns 0 or -ENOMEM. */
int service_producer_new(const struct service_producer_options *o, struct service_producer **ret);
/* Ends all instances, sends their data, and disconnects. No-op for NULL. */
void service_producer_free(struct service_producer *p);
/* Call in a child after fork(). Closes the descriptors, and replaces the shared memory by private
 * memory. Frees nothing. */
void service_producer_after_fork_in_child(struct service_producer *p);
/* Returns the address of the service, for messages. */
const char *service_producer_target(const struct service_producer *p);

/* Call when data sources were added or have new descriptors, and when one was removed. */
void service_producer_sources_changed(struct service_producer *p);
void service_producer_source_removed(struct service_producer *p, unsigned index, const char *name);
/* args: a serialized ActivateTriggersRequest. Returns 0, -ENOTCONN, or as channel_send(). */
int service_producer_activate_triggers(struct service_producer *p, const void *args, size_t len);
