/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "config/limits.h"
#include "service/ipc/ipc_host.h"

struct producer_port;
struct sessions;
struct session;

/*
 * Flushes: each producer with an instance in the session is asked to hand over what it has, and
 * says in a CommitData when it has done so. When all have, or the time is over, the service scrapes
 * what is still in the shared memories, and the flush is done.
 */
struct pending_flush;
TAILQ_HEAD(flush_list, pending_flush);

struct flush_request {
	uint32_t timeout_ms; /* 0: the config's */
	uint64_t flags;
	/* Only data sources that write to these buffers flush; NULL: all. */
	bool (*includes)(void *ctx, uint16_t buffer_id);
	/* Called once, from the loop, with the call below. May disable or free the session. NULL is
	 * allowed. */
	void (*done)(void *ctx, const struct ipc_call *call, bool success);
	void *ctx;
	struct ipc_call call;
};

/* Begins a flush; the request is copied. Returns 0; -EINVAL (the session is not started), -EBUSY
 * (LIMIT_PENDING_FLUSHES are pending) or -ENOMEM: done is not called. */
int session_flush(struct session *s, const struct flush_request *request);
/* The requests with this ctx get done(false) now, and nothing later. Their flushes go on. */
void session_reject_flushes(struct session *s, const void *ctx);
/* The requests with this ctx get nothing. Their flushes go on. */
void session_forget_flushes(struct session *s, const void *ctx);

/* The producer has flushed for this request and all before it, in any session. */
void flush_acked(struct sessions *sessions, const struct producer_port *p, uint64_t flush_id);
/* It is gone: nobody waits for it. */
void flush_forget_producer(struct sessions *sessions, const struct producer_port *p);
/* The session ends: all requests get done(false). */
void flush_cancel_all(struct session *s);
