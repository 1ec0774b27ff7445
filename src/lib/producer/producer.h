/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/producer/producer_options.h"

/*
 * This process as a producer of one service: connects to it, and again after a loss, registers the
 * data sources, and executes the commands. All functions are for the loop's thread.
 *
 * When the connection is lost, all its instances end, and nothing is recorded until the next one.
 */
struct service_producer;

/* Begins to connect. Returns 0 or -ENOMEM. */
int service_producer_new(const struct service_producer_options *o, struct service_producer **ret);
/* Ends all instances, sends their data, and disconnects. No-op for NULL. */
void service_producer_free(struct service_producer *p);
/* Call in a child after fork(). */
void service_producer_forget(struct service_producer *p);

/* Call when data sources were added or have new descriptors, and when one was removed. */
void service_producer_sources_changed(struct service_producer *p);
void service_producer_source_removed(struct service_producer *p, unsigned index, const char *name);
/* Returns 0, -ENOTCONN, or as channel_send(). args: a serialized ActivateTriggersRequest. */
int service_producer_activate_triggers(struct service_producer *p, const void *args, size_t len);
