/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct event_base;

/*
 * Tells a service on another machine of this one, through its RelayPort: what it is, once, and how
 * its clocks go, then and every 30 seconds. With that the service's traces have our events at their
 * right times. A connection of its own; a service that has no RelayPort is reported nothing, and nobody
 * hears of it.
 */
struct relay_client;

#define MACHINE_LINK_PERIOD_MS 30000

/* Of the producer socket at address. Returns 0 or -errno, as connection_new. */
int relay_client_new(struct event_base *loop, const char *address, struct relay_client **ret);
void relay_client_free(struct relay_client *l); /* No-op for NULL */
