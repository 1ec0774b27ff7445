/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

struct io_loop;

/* Describes this machine to a service on another machine, through its RelayPort: the system once,
 * the clocks at the start and every 30 seconds. The service then converts the times of our events.
 * Uses its own connection. */
struct relay_client;

#define RELAY_SYNC_PERIOD_MS 30000

/* Both may be NULL. */
struct relay_client_ops {
	/* A burst of n_calls calls has ended; the fastest of them was answered after fastest_ns. */
	void (*on_synced)(void *ctx, uint64_t fastest_ns, unsigned n_calls);
	/* The last callback; it may free the client. error: 0 (the service has closed the
	 * connection), -EPROTO (it has no RelayPort on this socket) or another -errno. */
	void (*on_lost)(void *ctx, int error);
};

/* Connects to the producer socket at address. Returns 0 or -errno, as channel_open(). */
int relay_client_new(struct io_loop *loop, const char *address, const struct relay_client_ops *ops,
		     void *ctx, struct relay_client **ret);
void relay_client_free(struct relay_client *l); /* No-op for NULL */
