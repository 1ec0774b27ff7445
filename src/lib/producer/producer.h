/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/producer/producer_options.h"

/*
 * This process as a producer of one service: connects to it, again and again, registers the data
 * sources, and obeys its commands. All on the loop's thread.
 *
 * When the connection is lost all instances of it end; what threads write then is dropped, as
 * nothing records.
 */
struct service_producer;

/* Begins to connect. Returns 0 or -ENOMEM. */
int service_producer_new(const struct service_producer_options *o, struct service_producer **ret);
/* Ends all instances, sends what was written, disconnects. No-op for NULL. */
void service_producer_free(struct service_producer *p);
/* In a child after fork(). */
void service_producer_forget(struct service_producer *p);

/* Data sources were added or have new descriptors; one was removed. */
void service_producer_sources_changed(struct service_producer *p);
void service_producer_source_removed(struct service_producer *p, unsigned index, const char *name);
/* Returns 0, -ENOTCONN, or as channel_send(). args: a serialized ActivateTriggersRequest. */
int service_producer_activate_triggers(struct service_producer *p, const void *args, size_t len);
