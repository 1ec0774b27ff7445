/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "base/system/priority_boost.h"
#include "service/ipc/ipc_host.h"
#include "service/trace/service_packets.h"
#include "service/trace/trace.h"
#include "service/ipc/quota.h"
#include "service/producer/registry.h"
#include "service/ipc/remote_machines.h"
#include "service/session/trigger_history.h"

struct consumer_port;
struct event_base;
struct extensions;
struct producer_port;
struct session;

/* Why sessions end, and none begins, once the process has been told to end. */
#define SERVICE_STOPPED "the tracing service was stopped"

TAILQ_HEAD(producer_list, producer_port);
TAILQ_HEAD(session_list, session);

/*
 * The tracing service: everything it knows, in one place. One thread, one loop.
 *
 *	producers --offer--> registry --instances of--> sessions --owned by--> consumers
 *	    |                                               |
 *	    +-------------- chunks ------> buffers <--------+
 */
struct service {
	struct event_base *loop; /* borrowed */
	struct ipc_host *producer_host; /* owned, and with it the connected producer_ports */
	struct ipc_host *consumer_host;
	struct ipc_entrance entrances[2]; /* of producers: [1] with RelayPort */

	uint64_t producer_ids[(UINT16_MAX + 1) / 64]; /* those in use, a bit each */
	struct producer_list producers; /* those that have introduced themselves */
	struct registry registry; /* owned */
	struct remote_machines machines; /* owned */
	struct session_list sessions; /* each owned by its consumer, or by us while
				       * detached; in the order of their ids */

	/* the last number given out of each kind; the 16-bit ones go round */
	uint16_t last_producer_id;
	uint16_t last_buffer_id;
	uint64_t last_session_id;
	uint64_t last_instance_id;
	uint64_t last_source_serial;
	uint64_t last_flush_id;

	/* held now, against the limits of service/ipc/limits.h */
	size_t n_producers;
	size_t n_sources;
	struct quota quota;

	/* refused before they reached a buffer, since the service began */
	uint64_t chunks_discarded;
	uint64_t patches_discarded;

	struct trigger_history trigger_history; /* owned */
	struct trace_env trace_env; /* of all sessions */
	struct priority_boost_state boost; /* service/session/priority.h */
	bool is_timely; /* sessions that say nothing of priority have some */
	bool is_stopping; /* service/shutdown.h: no session begins any more */
	bool lockdown; /* only producers of root and of our own user are let in */
	struct recent_sessions *recent; /* owned; NULL until the first */
	uid_t uid; /* of this process: trusted_uid of the service's own packets */
	const uid_t *system_users; /* borrowed: others that may offer data sources of the system */
	size_t n_system_users;
	const char *machine_name; /* borrowed from the environment, or uname_name */
	char uname_name[65];
};

/* 0 or -ENOMEM. */
int service_new(struct event_base *loop, struct service **ret);
/* Ends every session and connection. NULL is fine. */
void service_free(struct service *s);

/*
 * Listening sockets, taken also on failure. Several of each are fine. Consumers come on AF_UNIX
 * only; an abstract socket, whose connections nothing limits, serves root and our own user only. Producers may come on TCP and vsock from the addresses in allow (borrowed for the service's
 * life; NULL: none); relay: RelayPort is offered beside ProducerPort. 0 or -errno.
 */
int service_listen_producers(struct service *s, int fd, const struct remote_allow *allow,
			     bool relay);
int service_listen_consumers(struct service *s, int fd);

/* 0 when all are in use. */
uint16_t service_new_producer_id(struct service *s);
void service_free_producer_id(struct service *s, uint16_t id);
uint16_t service_new_buffer_id(struct service *s);

/* Of a config: a LockdownModeOperation. */
void service_set_lockdown(struct service *s, int operation);
static inline bool service_admits_producer(const struct service *s, const struct ipc_peer *peer)
{
	return !s->lockdown || (!peer->is_remote && (peer->uid == 0 || peer->uid == s->uid));
}

/* A peer whose data sources may have names of the system: root's, the service's own user's, or one of
 * a user that was named when the service started. */
bool service_trusts(const struct service *s, const struct ipc_peer *peer);

size_t service_count_sessions(const struct service *s);
size_t service_count_buffers(const struct service *s);
