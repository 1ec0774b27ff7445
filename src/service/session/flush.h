/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "config/limits.h"
#include "service/ipc/ipc_host.h"

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

/* Called from the loop when the flush is over. May disable or free the session. */
typedef void (*flush_done)(struct session *s, const struct ipc_call *call, bool success);

/*
 * Begins one. timeout_ms 0: the config's. call is copied and handed to done (which may be NULL).
 * 0; -EINVAL (the session is not started), -EBUSY (LIMIT_PENDING_FLUSHES wait already) or -ENOMEM:
 * done is not called.
 */
int flush_begin(struct session *s, uint32_t timeout_ms, uint64_t flags, flush_done done,
		const struct ipc_call *call);

/* A flush of the data sources that write to some of the buffers. */
struct flush_group {
	bool (*includes)(void *ctx, uint16_t buffer_id);
	/* Called from the loop; may free the session. */
	void (*done)(void *ctx, bool success);
	void *ctx;
};

/* Begins one, with the config's timeout; group is copied. Returns as flush_begin. */
int flush_begin_group(struct session *s, uint64_t flags, const struct flush_group *group);
/* The group with this ctx is not called any more; its flush goes on. */
void flush_disown_group(struct session *s, const void *ctx);

/* The producer has flushed for this request and all before it, in any session. */
void flush_acked(struct service *service, const struct producer_port *p, uint64_t flush_id);
/* It is gone: nobody waits for it. */
void flush_forget_producer(struct service *service, const struct producer_port *p);
/* Who waits for such ends gets false now, and nothing later; the flushes go on. */
void flush_disown(struct session *s, flush_done done);
/* The session ends: each done gets false. */
void flush_cancel_all(struct session *s);
