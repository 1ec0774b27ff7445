/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "config/trace_config.pb-c.h"
#include "service/producer/producer_port.h"
#include "service/session/session.h"

struct pb_enc;
struct producer_port;
struct registered_source;
struct sessions;

/* Sets up an instance of everything registered that the config asks for. */
void source_instances_setup_all(struct session *s);
/* A source was registered: if the session wants it, sets it up, and starts it in a started one. */
void source_instances_offer(struct session *s, const struct registered_source *source);
/* One data source of the config has other filters: the same for registrations that have no instance
 * of it. *steps: what it may take, from MAX_SETUP_STEPS on. */
void source_instances_setup_new(struct session *s, const Pb__TraceConfig__DataSource *config,
				uint64_t *steps);
void source_instances_start_all(struct session *s);
/* at_once: no instance is waited for. */
void source_instances_stop_all(struct session *s, bool at_once);
/* Forgets all of them, without a word to the producers. */
void source_instances_deinit(struct session *s);
bool source_instances_all_in(const struct session *s, enum instance_state state);
/* Tells the producers of all instances that can to clear their incremental state. */
void source_instances_clear_incremental_state(struct session *s);

/* Adds one to a TracingServiceEvent.DataSources: whose it is, and its name. */
void source_instances_put_source(const struct source_instance *i, struct pb_enc *e);

/* ---- what a producer says, about its own instances in any session ---- */

void source_instances_notify_started(const struct producer_port *p, uint64_t id);
void source_instances_notify_stopped(const struct producer_port *p, uint64_t id);
/* It no longer offers the data source of this name (NULL: any). Those that run are told to stop,
 * if tell. */
void source_instances_withdraw(struct sessions *sessions, struct producer_port *p, const char *name,
			       bool tell);
