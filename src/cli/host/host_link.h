/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "cli/host/host_stream.h"

struct event_base;

/*
 * The connection to one machine: runs ssh, finds sonda there or copies it, and starts the agent
 * (cli/host/host_agent.h).
 *
 *	host_link_start --> on_ready --> host_link_request --> on_trace, on_output --> on_exit
 *	                        |               |                      |
 *	                        +---------------+----------------------+--> on_failed
 *
 * After on_exit or on_failed, no callback is called. The callbacks must not free the link.
 */
struct host_link;

/* The clocks of the other machine, as a ping measured them. */
struct host_clocks {
	uint64_t boot_ns, real_ns; /* of the other machine */
	uint64_t local_ns; /* CLOCK_BOOTTIME of this machine at the same moment */
	uint64_t trip_ns; /* of the ping: twice the largest possible error */
};

struct host_link_ops {
	/* The machine gets a copy of sonda, of this size. */
	void (*on_copy)(void *ctx, uint64_t bytes);
	void (*on_ready)(void *ctx);
	/* Bytes of the trace. */
	void (*on_trace)(void *ctx, const uint8_t *data, size_t len);
	/* What the recording or its command has printed. */
	void (*on_output)(void *ctx, bool is_error, const uint8_t *data, size_t len);
	void (*on_exit)(void *ctx, int code, bool discard);
	/* The connection is lost, or could not be made. why is a whole sentence. */
	void (*on_failed)(void *ctx, const char *why);
};

struct host_link_setup {
	struct event_base *loop;
	const char *host; /* for ssh */
	bool sudo; /* run sonda with sudo -n on the other machine */
	const struct host_link_ops *ops;
	void *ctx;
};

/* setup and what it refers to are borrowed until the link is freed. Returns 0, or -errno and sets
 * e. */
int host_link_start(const struct host_link_setup *setup, struct err_text *e,
		    struct host_link **ret);
/* Ends the connection, and with it everything that runs on the other machine. No-op for NULL. */
void host_link_free(struct host_link *l);

/* Starts the recording. Returns 0, or -E2BIG if the request is too large for a frame; other errors
 * call on_failed. */
int host_link_request(struct host_link *l, const struct host_request *r);
/* Sends a signal to the recording; no-op before on_ready and after the end. */
void host_link_signal(struct host_link *l, int number);
/* Call it every second: sends a ping every few seconds, and fails if the other side is silent. */
void host_link_tick(struct host_link *l);

/* Returns the best measurement so far, which is kept up to date; after on_ready there is one. */
const struct host_clocks *host_link_clocks(const struct host_link *l);
/* Returns the id of the user that the agent runs as. */
uint32_t host_link_uid(const struct host_link *l);
