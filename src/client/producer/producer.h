/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/system/priority_boost.h"
#include "client/producer/data_source.h"

/*
 * A program as a producer, on its libevent loop: registers data sources from a table with the
 * service, and runs their instances on the service's commands (client/producer/service_producer.h).
 *
 * When the connection is lost every instance is stopped and destroyed, so tracefs is restored.
 */
struct producer;

struct producer_options {
	const char *name; /* producer_name: "perfetto.traced_probes" for sonda-probes */
	/* Address; NULL: sock_default_producer(). Only the first address of a comma-separated list
	 * is used. */
	const char *socket;
	uint32_t shm_size; /* hints in bytes; 0: 2 MiB of 32 KiB pages */
	uint32_t page_size;
	/* The service may read uncommitted chunks, if a flush times out or this process is
	 * killed. */
	bool scraping;
	/* Borrowed for the producer's life; NULL-terminated. */
	const struct data_source *const *sources;
	struct ds_env env; /* loop, bus, roots and trust; the producer sets the rest */
	/* The callbacks may be NULL. */
	/* No service listens; the producer waits for one. Called once each time that it begins to
	 * wait. */
	void (*on_waiting)(void *ctx, const char *socket);
	void (*on_connected)(void *ctx); /* all sources are registered (Sync was answered) */
	void (*on_disconnected)(void *ctx); /* after on_connected; all instances are destroyed */
	/* Reports a problem in one sentence; the producer continues: no service (reported once
	 * until the next connection), a data source that could not be set up. */
	void (*on_error)(void *ctx, const char *sentence);
	/* The strongest priority_boost of the running data sources has changed;
	 * PRIORITY_BOOST_NONE: restore the original priority. If NULL, on_error reports configs
	 * with a priority_boost. */
	void (*on_boost)(void *ctx, struct priority_boost strongest);
	/* Reports a new set of capabilities (bits 1 << CAP_*) that the running data sources or the
	 * connection to the service need. */
	void (*on_capabilities)(void *ctx, uint64_t mask);
	void *ctx;
};

/* Starts to connect; the rest happens on the loop. name must outlive the producer; socket is
 * copied. A failed attempt is reported to on_error or on_waiting and repeated. Returns 0 or
 * -ENOMEM. */
int producer_new(const struct producer_options *options, struct producer **ret);
/* Stops and destroys every instance, sends their data, disconnects. No-op for NULL. Must not be
 * called from a data source or from on_error. */
void producer_free(struct producer *p);

/* Activates triggers by name. Returns 0, -ENOTCONN, or as channel_send(). */
int producer_activate_triggers(struct producer *p, const char *const *names, size_t n);
