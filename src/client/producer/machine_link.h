/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

struct event_base;

/*
 * Tells a service on another machine of this one, through its RelayPort: what it is, once, and how
 * its clocks go, then and every 30 seconds. With that the service's traces have our events at their
 * right times. A connection of its own; a service that has no RelayPort is told nothing, and nobody
 * hears of it.
 */
struct machine_link;

#define MACHINE_LINK_PERIOD_MS 30000

/* Of the producer socket at address. 0 or -errno, as connection_new. */
int machine_link_new(struct event_base *loop, const char *address, struct machine_link **ret);
void machine_link_free(struct machine_link *l); /* NULL is fine */
