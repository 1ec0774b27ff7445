/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "service/ipc_host.h"

struct producer_port;
struct service;
struct session;

/*
 * Flushes: each producer with an instance in the session is asked to hand over what it has, and
 * says in a CommitData when it has done so. When all have, or the time is over, the service scrapes
 * what is still in the shared memories, and the flush is done.
 */
struct pending_flush;
TAILQ_HEAD(flush_list, pending_flush);

/* FlushFlags of the protocol: who asked, and why. */
enum {
	FLUSH_REASON_MASK = 0xf,
	FLUSH_REASON_PERIODIC = 0x1,
	FLUSH_REASON_STOP = 0x2,
	FLUSH_REASON_CLONE = 0x3,
	FLUSH_BY_SERVICE = 0x10,
};

/* Called from the loop when the flush is over. May disable or free the session. */
typedef void (*flush_done)(struct session *s, const struct ipc_call *call, bool success);

/*
 * Begins one. timeout_ms 0: the config's. call is copied and handed to done (which may be NULL).
 * 0; -EINVAL (the session is not started), -EBUSY (LIMIT_PENDING_FLUSHES wait already) or -ENOMEM:
 * done is not called.
 */
int flush_begin(struct session *s, uint32_t timeout_ms, uint64_t flags, flush_done done,
		const struct ipc_call *call);

/* The producer has flushed for this request and all before it, in any session. */
void flush_acked(struct service *service, const struct producer_port *p, uint64_t flush_id);
/* It is gone: nobody waits for it. */
void flush_forget_producer(struct service *service, const struct producer_port *p);
/* Who waits for such ends gets false now, and nothing later; the flushes go on. */
void flush_disown(struct session *s, flush_done done);
/* The session ends: each done gets false. */
void flush_cancel_all(struct session *s);
