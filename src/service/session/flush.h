/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "service/session/session.h"

struct producer_port;
struct sessions;

/*
 * Flushes: each producer with an instance in the session is asked to hand over what it has, and
 * says in a CommitData when it has done so. When all have, or the time is over, the service scrapes
 * what is still in the shared memories, and the flush is done.
 */
struct pending_flush;
TAILQ_HEAD(flush_list, pending_flush);

/* The producer has flushed for this request and all before it, in any session. */
void flush_acked(struct producer_port *p, uint64_t flush_id);
/* It is gone: nobody waits for it. */
void flush_forget_producer(struct producer_port *p);
/* The session ends: all requests get done(false). */
void flush_cancel_all(struct session *s);
