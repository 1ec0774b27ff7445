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
#include "service/producer/producers.h"
#include "service/ipc/remote_machines.h"
#include "service/session/trigger_history.h"

struct consumer_port;
struct event_base;
struct extensions;
struct session;

/* Why sessions end, and none begins, once the process has been told to end. */
#define SERVICE_STOPPED "the tracing service was stopped"

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

	struct producers producers; /* owned */
	struct remote_machines machines; /* owned */
	struct session_list sessions; /* each owned by its consumer, or by us while
				       * detached; in the order of their ids */

	/* the last number given out of each kind; the 16-bit ones go round */
	uint16_t last_buffer_id;
	uint64_t last_session_id;
	uint64_t last_instance_id;
	uint64_t last_flush_id;

	/* held now, against the limits of service/ipc/limits.h */
	struct quota quota;

	struct trigger_history trigger_history; /* owned */
	struct trace_env trace_env; /* of all sessions */
	struct priority_boost_state boost; /* service/session/priority.h */
	bool is_timely; /* sessions that say nothing of priority have some */
	bool is_stopping; /* service/shutdown.h: no session begins any more */
	struct recent_sessions *recent; /* owned; NULL until the first */
	uid_t uid; /* of this process: trusted_uid of the service's own packets */
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
uint16_t service_new_buffer_id(struct service *s);

size_t service_count_sessions(const struct service *s);
size_t service_count_buffers(const struct service *s);
