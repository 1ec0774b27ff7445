/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <event2/event.h>
#include <stdlib.h>

#include "base/system/log.h"
#include "service/ipc/ipc_host.h"
#include "service/service.c" /* its struct is private */
#include "service/session/session_state.h"
#include "unit/../system/service_peer_consumer.h"
#include "unit/../system/service_peer_producer.h"

/*
 * A service in this process, and peers that are connected to it: one for all inputs, which must
 * leave it as they found it.
 */

#define MUST(condition) ((condition) ? (void)0 : abort())

static struct event_base *loop;
static struct service *service;

static inline void fuzz_pump(void *ctx)
{
	(void)ctx;
	event_base_loop(loop, EVLOOP_NONBLOCK);
}

static inline void fuzz_service_begin(void)
{
	log_init("fuzz");
	log_set_level(LOG_LEVEL_ERROR);
	loop = event_base_new();
	MUST(loop && service_new(loop, NULL, &service) == 0);
}

static inline void fuzz_plug_in(struct peer *p, struct ipc_host *host)
{
	int fds[2];

	MUST(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) == 0);
	MUST(ipc_host_adopt(host, fds[0], NULL) == 0);
	peer_init(p, fds[1]);
	p->pump = fuzz_pump;
}

static inline void fuzz_plug_in_producer(struct peer *p)
{
	fuzz_plug_in(p, service->producer_host);
}

static inline void fuzz_plug_in_consumer(struct peer *p)
{
	fuzz_plug_in(p, service->consumer_host);
}

/* What has come is passed over. */
static inline void fuzz_drain(struct peer *p)
{
	for (int i = 0; i < 100 && peer_next_in(p, 0); i++)
		;
}

/* Everybody has hung up: nothing of them is left. */
static inline void fuzz_service_must_be_empty(void)
{
	for (int i = 0; i < 8; i++)
		fuzz_pump(NULL);
	MUST(TAILQ_EMPTY(&service->sessions.list) && TAILQ_EMPTY(&service->producers.list));
	MUST(TAILQ_EMPTY(&service->producers.registry.sources) &&
	     service->quota.held[QUOTA_DESCRIPTOR_BYTES] == 0);
	MUST(service->quota.held[QUOTA_SMB_BYTES] == 0 && service->producers.n == 0);
	MUST(event_base_get_num_events(loop, EVENT_BASE_COUNT_ADDED) == 0);
}
