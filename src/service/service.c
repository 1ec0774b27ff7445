/* SPDX-License-Identifier: Apache-2.0 */
#include "service/service.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/event_loop/event_free.h"
#include "base/system/priority_boost.h"
#include "service/consumer/consumer_port.h"
#include "service/ipc/ipc_host.h"
#include "service/ipc/quota.h"
#include "service/ipc/relay_port.h"
#include "service/ipc/remote_machines.h"
#include "service/producer/producer_port.h"
#include "service/producer/producers.h"
#include "service/session/sessions.h"

#define DISPATCH_US 1000 /* after this time the loop checks for events of priority 0 */

struct service {
	struct quota quota;
	struct ipc_host *producer_host; /* owned, and with it the connected producer_ports */
	struct ipc_host *consumer_host; /* owned, and with it the connected consumer_ports */
	struct ipc_entrance entrances[3]; /* for producers, by enum producer_socket */

	struct remote_machines machines; /* owned */
	struct producers producers; /* owned */
	struct sessions sessions; /* owned */

	char uname_name[65];
};

struct event_base *service_loop_new(void)
{
	const struct timeval most = {.tv_usec = DISPATCH_US};
	struct event_config *config = event_config_new();
	struct event_base *loop = NULL;

	if (!config)
		return NULL;
	/* One thread: no locks. */
	event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK);
	/* Consumers with small requests have priority 0, all other events 1. */
	event_config_set_max_dispatch_interval(config, &most, -1, 1);
	loop = event_base_new_with_config(config);
	event_config_free(config);
	if (loop && event_base_priority_init(loop, 2) < 0)
		event_base_freep(&loop);
	return loop;
}

/* Returns PERFETTO_MACHINE_NAME of the environment, or the name of the kernel ("Linux"). */
static const char *machine_name(struct service *s)
{
	const char *name = getenv("PERFETTO_MACHINE_NAME");
	struct utsname u;

	if (name && name[0])
		return name;
	if (uname(&u) == 0)
		snprintf(s->uname_name, sizeof(s->uname_name), "%s", u.sysname);
	return s->uname_name;
}

static void init_service(struct service *s, struct event_base *loop,
			 const struct service_options *o)
{
	struct trace_env env = {
		.machines = &s->machines, .extensions = o->extensions, .uid = geteuid()};

	quota_init(&s->quota);
	remote_machines_init(&s->machines, &s->quota);
	producers_init(&s->producers, &s->quota, &sessions_producer_events, &s->sessions);
	s->producers.system_users = o->system_users;
	s->producers.n_system_users = o->n_system_users;
	sessions_init(&s->sessions, loop, &s->quota, &s->producers, &env);
	s->sessions.machine_name = machine_name(s);
	s->sessions.is_timely = o->is_timely;
	for (int i = PRODUCERS_AND_RELAYS; i <= PRODUCERS_AND_UNIX_RELAYS; i++) {
		s->entrances[i].extra = &relay_port_service;
		s->entrances[i].extra_ctx = &s->machines;
	}
	s->entrances[PRODUCERS_AND_UNIX_RELAYS].takes_relays = true;
}

int service_new(struct event_base *loop, const struct service_options *options,
		struct service **ret)
{
	static const struct service_options none;
	struct service *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	init_service(s, loop, options ? options : &none);
	r = ipc_host_new(loop, &producer_port_service, &s->producers, &s->quota, &s->producer_host);
	if (r == 0)
		r = ipc_host_new(loop, &consumer_port_service, &s->sessions, &s->quota,
				 &s->consumer_host);
	if (r < 0) {
		service_free(s);
		return r;
	}
	*ret = s;
	return 0;
}

void service_free(struct service *s)
{
	if (!s)
		return;
	/* The consumers first: sessions end with them, and stop the data sources of producers. */
	ipc_host_free(s->consumer_host);
	sessions_deinit(&s->sessions);
	ipc_host_free(s->producer_host);
	remote_machines_deinit(&s->machines);
	quota_deinit(&s->quota);
	free(s);
}

struct sessions *service_sessions(struct service *s)
{
	return &s->sessions;
}

void service_tick(struct service *s)
{
	/* Work for producers that are not root's should not be boosted, even if they send many
	 * requests. */
	s->sessions.boost.ordinary_ns = s->quota.producers_ns;
	priority_boost_tick(&s->sessions.boost);
}

int service_listen_producers(struct service *s, int fd, const struct remote_allow *allow,
			     enum producer_socket kind)
{
	struct ipc_entrance *e = &s->entrances[kind];

	e->allow = allow;
	return ipc_host_listen(s->producer_host, fd, e);
}

int service_adopt_producer(struct service *s, int fd)
{
	return ipc_host_adopt(s->producer_host, fd, NULL);
}

int service_adopt_consumer(struct service *s, int fd)
{
	return ipc_host_adopt(s->consumer_host, fd, NULL);
}

static bool is_abstract(int fd)
{
	struct sockaddr_un a = {0};
	socklen_t len = sizeof(a);

	return getsockname(fd, (struct sockaddr *)&a, &len) == 0 && a.sun_family == AF_UNIX &&
	       len > offsetof(struct sockaddr_un, sun_path) && a.sun_path[0] == '\0';
}

int service_listen_consumers(struct service *s, int fd)
{
	static const struct ipc_entrance own_user = {.own_user_only = true};

	return ipc_host_listen(s->consumer_host, fd, is_abstract(fd) ? &own_user : NULL);
}
