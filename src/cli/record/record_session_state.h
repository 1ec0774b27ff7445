/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "cli/record/record_session_ops.h"
#include "cli/trace/trace_readback.h"
#include "client/transport/consumer.h"
#include "config/trace_config.pb-c.h"

/* Private to record_session.c (up to the end of tracing) and record_session_end.c (from there on):
 * the state, its deadline, and the end. */

enum record_session_state {
	RECORD_CONNECTING,
	RECORD_QUERYING,
	RECORD_RECORDING,
	RECORD_FLUSHING,
	RECORD_DISABLING,
	RECORD_DETACHING,
	RECORD_READING,
	RECORD_STATS,
	RECORD_QUERYING_AGAIN,
	RECORD_HELD,
	RECORD_FREEING,
	RECORD_ENDED,
};

struct record_session {
	const Pb__TraceConfig *config; /* borrowed from the caller until free */
	const struct record_session_ops *ops; /* likewise */
	void *ctx;
	struct consumer *consumer; /* owned */
	struct event *deadline; /* owned */
	struct packet_read reading;
	enum record_session_state state;
	int flush_error;
	int passed_fd; /* borrowed; -1: none */
	struct event
		*pass; /* owned: the next pass of reading while it records; NULL: it does not */
	bool passing, last_pass; /* a pass is in progress; it is the last pass */
	bool on_demand; /* passes begin when the owner asks for them */
	bool catching_up; /* the flush before such a pass is pending */
	uint64_t pass_bytes; /* bytes that this pass has read */
	bool stats_asked;
	bool exists; /* the service has answered with the counters of the session */
	struct err_text aborted; /* why the service aborted the session; "": it did not */
	bool held; /* until all clones of the session are made */
	bool started; /* all data sources have started, and that was reported */
	char address[128]; /* of the service, for messages */
};

/* Creates the timer of the deadline. Returns 0 or -ENOMEM. */
int record_session_new_deadline(struct record_session *s, struct event_base *loop);
/* Enters the state and starts its deadline. */
void record_session_enter(struct record_session *s, enum record_session_state state);
/* Restarts the deadline of the state, because the service has answered. */
void record_session_arm(struct record_session *s);

/* Ends the session: calls on_end, once. record_session_fail() takes the message from the errno. */
void record_session_end(struct record_session *s, int error, const char *why);
void record_session_fail(struct record_session *s, int error);

/* Returns true while tracing runs. */
bool record_session_tracing(const struct record_session *s);
