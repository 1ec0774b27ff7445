/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "config/trace_config.pb-c.h"
#include "service/producer/producer_port.h"
#include "service/session/session.h"
#include "service/trace/trace_events.h"

struct producer_port;
struct registered_source;
struct sessions;

/* Sets up an instance of each registered data source that the config requests. */
void source_instances_setup_all(struct session *s);
/* Call when a source was registered. Sets up an instance if the config requests it, and starts it
 * if the session is started. */
void source_instances_offer(struct session *s, const struct registered_source *source);
/* Call when the filters of one data source of the config have changed. Sets up instances of
 * matching registrations that have none. *steps: remaining steps, initially MAX_SETUP_STEPS. */
void source_instances_setup_new(struct session *s, size_t config_index, uint64_t *steps);
void source_instances_start_all(struct session *s);
/* at_once: does not wait for acknowledgements. */
void source_instances_stop_all(struct session *s, bool at_once);
/* Frees all instances, without commands to the producers. */
void source_instances_deinit(struct session *s);
bool source_instances_are_all_in(const struct session *s, enum instance_state state);
/* Sends ClearIncrementalState to the producers of all instances that support it. */
void source_instances_clear_incremental_state(struct session *s);
/* Sends ClearIncrementalState for the instances whose buffer has received half of its size since
 * the last one: a ring buffer will soon overwrite their incremental state. */
void source_instances_clear_state_before_overwrite(struct session *s);

/* Records in the trace the first MAX_SLOW_SOURCES instances for which is_slow() returns true, to
 * explain missing data. Records nothing if there are none, or no memory. */
void source_instances_record_slow(const struct session *s, enum service_event_kind kind,
				  bool (*is_slow)(const struct source_instance *i, const void *ctx),
				  const void *ctx);

/* ---- notifications of a producer, about its instances ---- */

/* Call when the producer has started (stopped) its instance with this id. Returns the session of
 * the instance, whose state has changed, or NULL: there is no such instance, or it waits for
 * nothing. */
struct session *source_instances_handle_started(const struct producer_port *p, uint64_t id);
struct session *source_instances_handle_stopped(const struct producer_port *p, uint64_t id);
/* Call when the producer has unregistered the data source of this name (NULL: all). send_stop:
 * sends a stop command to running instances. Returns true if the session had any. */
bool source_instances_withdraw(struct session *s, const struct producer_port *p, const char *name,
			       bool send_stop);
