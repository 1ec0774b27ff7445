/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

#include "client/producer/producer_options.h"

/*
 * The producer side of the protocol: keeps a connection to the service (connects, retries with
 * back-off and inotify, reconnects after a loss), registers data sources from a table, and runs
 * their instances on the service's commands.
 *
 * When the connection is lost every instance is stopped and destroyed, so tracefs is restored.
 */
struct producer;

/* Starts to connect; the rest happens on the loop. name and socket are copied. A failed attempt is
 * reported to on_error or on_waiting and repeated. Returns 0 or -ENOMEM. */
int producer_new(const struct producer_options *options, struct producer **ret);
/* Stops and destroys every instance, sends their data, disconnects. No-op for NULL. Must not be
 * called from a data source or from on_error. */
void producer_free(struct producer *p);

/* Activates triggers by name. Returns 0, -ENOTCONN, or as connection_call(). */
int producer_activate_triggers(struct producer *p, const char *const *names, size_t n);
