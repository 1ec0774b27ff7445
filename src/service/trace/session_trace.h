/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#include "service/trace/lifecycle.h"

struct session;

/*
 * What a session gathers to say about itself in its trace: events, clocks, and which trace it is.
 * service/trace/service_packets.h makes packets of it.
 */

/* Records an event of the session's life. */
void session_record(struct session *s, enum lifecycle_kind kind);
/* Takes a snapshot of the clocks, unless the config disables them. */
void session_snapshot_clocks(struct session *s);
/* The session starts: this snapshot is the first of its trace. */
void session_snapshot_start(struct session *s);

/* The uuid of the config, or a random one. */
void session_make_uuid(struct session *s);
/* A random first half, by which readers tell traces apart; the second says what it is part of. */
void session_make_uuid_of(struct session *s, int64_t lsb);
/* Another file with a trace of its own begins: what stands at the head of a trace is due again, with
 * a uuid whose first half is new. */
void session_begin_trace(struct session *s);
