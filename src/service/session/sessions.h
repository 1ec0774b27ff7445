/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/system/priority_boost.h"
#include "service/ipc/quota.h"
#include "service/producer/producers.h"
#include "service/session/trigger_history.h"
#include "service/trace/trace.h"

struct event_base;
struct session;

TAILQ_HEAD(session_list, session);

/* The reason for which sessions end, and new ones are refused, during the shutdown. */
#define SERVICE_STOPPED "the tracing service was stopped"

/* All sessions of the service, and their shared state. */
struct sessions {
	struct event_base *loop; /* borrowed */
	struct quota *quota; /* borrowed */
	struct producers *producers; /* borrowed */
	struct trace_env trace_env; /* of all traces */
	const char *machine_name; /* borrowed: of this machine, for machine_name_filter */

	struct session_list list; /* each owned by its consumer, or by us while detached; in the
				   * order of their ids */

	/* the last number of each kind that was assigned; the 16-bit one wraps */
	uint16_t last_buffer_id;
	uint64_t last_session_id;
	uint64_t last_instance_id;
	uint64_t last_flush_id;

	struct trigger_history trigger_history; /* owned */
	struct recent_sessions *recent; /* owned; NULL until the first */
	struct priority_boost_state boost; /* service/session/session_life.h */
	bool is_timely; /* sessions without a priority_boost have PRIORITY_BOOST_BUDGETED */
	bool is_stopping; /* service/session/shutdown.h: no session begins any more */
};

/* Everything is borrowed. */
void sessions_init(struct sessions *ss, struct event_base *loop, struct quota *quota,
		   struct producers *producers, const struct trace_env *env);
/* Frees the sessions that are left, which are detached. */
void sessions_deinit(struct sessions *ss);

/* Returns 0 if all ids are in use. An id is reused as late as possible. */
uint16_t sessions_new_buffer_id(struct sessions *ss);

/* Returns the session after s, or the first session if s is NULL; NULL at the end. */
struct session *sessions_next(const struct sessions *ss, const struct session *s);
size_t sessions_count(const struct sessions *ss);

/* Callbacks of the producers to the sessions; ctx is struct sessions. */
extern const struct producer_events sessions_producer_events;
