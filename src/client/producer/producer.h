/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/system/priority_boost.h"
#include "client/producer/data_source.h"

/*
 * The producer side of the protocol: keeps a connection to the service (connects, waits with
 * back-off and inotify, connects again after a loss), registers data sources from a table, and runs
 * their instances by the service's commands.
 *
 * A lost service ends every instance (stop, destroy): tracefs is left as it was found.
 */
struct producer;

struct producer_options {
	const char *name; /* producer_name: "perfetto.traced_probes" for sonda-probes */
	/* Address; NULL: sock_default_producer(). Of a list separated by commas the first. */
	const char *socket;
	uint32_t shm_size; /* hints in bytes; 0: 2 MiB of 32 KiB pages */
	uint32_t page_size;
	/* The service may read chunks that were not committed: when a flush goes unanswered, and
	 * when this process ends without a farewell. */
	bool scraping;
	/* Borrowed for the producer's life; NULL-terminated. */
	const struct data_source *const *sources;
	struct ds_env env; /* loop, feed, roots and trust; the producer sets the rest */
	/* All optional. */
	void (*on_connected)(void *ctx); /* all sources are registered (Sync was answered) */
	void (*on_disconnected)(void *ctx); /* after on_connected; every instance is gone */
	/* One sentence about something that does not work, and which continues without: no service
	 * (told once, until there was one), a data source that could not be set up. */
	void (*on_trouble)(void *ctx, const char *sentence);
	/* The strongest priority_boost that a running data source asks for is another one now;
	 * PRIORITY_BOOST_NONE: run as before the first. Without it, such a config is a trouble. */
	void (*on_boost)(void *ctx, struct priority_boost strongest);
	/* The capabilities (bits 1 << CAP_*) that the data sources that run need are others now, or
	 * those that it takes to reach the service. */
	void (*on_capabilities)(void *ctx, uint64_t mask);
	void *ctx;
};

/* Starts to connect; the rest happens on the loop. Strings are copied. 0, -ENOMEM or -ENAMETOOLONG.
 */
int producer_new(const struct producer_options *options, struct producer **ret);
/* Stops and destroys every instance, sends what they wrote, disconnects. No-op for NULL. Not from a
 * data source, nor from on_trouble. */
void producer_free(struct producer *p);

/* Sends every pending commit now. */
void producer_commit(struct producer *p);
/* Asks the service to act on triggers by name. 0, -ENOTCONN, or as connection_call. */
int producer_activate_triggers(struct producer *p, const char *const *names, size_t n);
