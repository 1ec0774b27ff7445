/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct io_loop;

/*
 * Describes this machine to a service on another machine, through its RelayPort: the system once,
 * the clocks at the start and every 30 seconds. The service then converts the times of our events.
 * Uses its own connection. Does nothing if the service has no RelayPort.
 */
struct relay_client;

#define RELAY_SYNC_PERIOD_MS 30000

/* Connects to the producer socket at address. Returns 0 or -errno, as channel_open(). */
int relay_client_new(struct io_loop *loop, const char *address, struct relay_client **ret);
void relay_client_free(struct relay_client *l); /* No-op for NULL */
