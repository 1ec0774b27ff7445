/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct event_base;

/*
 * Describes this machine to a service on another machine, through its RelayPort: the system once, the clocks
 * then and every 30 seconds, so that the service can convert the times of our events. Uses a connection
 * of its own. A service without RelayPort gets nothing, silently.
 */
struct relay_client;

#define MACHINE_LINK_PERIOD_MS 30000

/* Connects to the producer socket at address. Returns 0 or -errno, as connection_new. */
int relay_client_new(struct event_base *loop, const char *address, struct relay_client **ret);
void relay_client_free(struct relay_client *l); /* No-op for NULL */
