/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

#include "client/producer/producer_options.h"

/*
 * A program as a producer, on its libevent loop: registers data sources from a table with the service,
 * and runs their instances on the service's commands (client/producer/service_producer.h).
 *
 * When the connection is lost every instance is stopped and destroyed, so tracefs is restored.
 */
struct producer;

/* Starts to connect; the rest happens on the loop. name must outlive the producer; socket is copied. A
 * failed attempt is reported to on_error or on_waiting and repeated. Returns 0 or -ENOMEM. */
int producer_new(const struct producer_options *options, struct producer **ret);
/* Stops and destroys every instance, sends their data, disconnects. No-op for NULL. Must not be
 * called from a data source or from on_error. */
void producer_free(struct producer *p);

/* Activates triggers by name. Returns 0, -ENOTCONN, or as channel_send(). */
int producer_activate_triggers(struct producer *p, const char *const *names, size_t n);
