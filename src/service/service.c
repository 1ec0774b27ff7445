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

#include "config/limits.h"
#include "service/session/admission.h"
#include "service/consumer/consumer_port.h"
#include "service/ipc/ipc_host.h"
#include "service/producer/producer_port.h"
#include "service/ipc/relay_port.h"
#include "service/session/session.h"
#include "service/session/session_life.h"
#include "service/session/sessions.h"

/* ---- numbers ---- */

static bool buffer_id_used(const struct service *s, uint16_t id)
{
	const struct session *session;

	TAILQ_FOREACH (session, &s->sessions, link)
		if (trace_find_buffer(session->trace, id) >= 0)
			return true;
	return false;
}

uint16_t service_new_buffer_id(struct service *s)
{
	for (unsigned tries = 0; tries <= UINT16_MAX; tries++) {
		s->last_buffer_id++;
		if (s->last_buffer_id != 0 && !buffer_id_used(s, s->last_buffer_id))
			return s->last_buffer_id;
	}
	return 0;
}

size_t service_count_sessions(const struct service *s)
{
	const struct session *session;
	size_t n = 0;

	TAILQ_FOREACH (session, &s->sessions, link)
		n++;
	return n;
}

size_t service_count_buffers(const struct service *s)
{
	const struct session *session;
	size_t n = 0;

	TAILQ_FOREACH (session, &s->sessions, link)
		n += trace_n_buffers(session->trace);
	return n;
}

/* ---- life ---- */

static void set_machine_name(struct service *s)
{
	const char *name = getenv("PERFETTO_MACHINE_NAME");
	struct utsname u;

	if (name && name[0]) {
		s->machine_name = name;
		return;
	}
	if (uname(&u) == 0)
		snprintf(s->uname_name, sizeof(s->uname_name), "%s", u.sysname);
	s->machine_name = s->uname_name;
}

int service_new(struct event_base *loop, struct service **ret)
{
	struct service *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->loop = loop;
	s->uid = geteuid();
	set_machine_name(s);
	TAILQ_INIT(&s->sessions);
	quota_init(&s->quota);
	producers_init(&s->producers, &s->quota, &sessions_producer_events, s);
	remote_machines_init(&s->machines, &s->quota);
	s->trace_env = (struct trace_env){.machines = &s->machines, .uid = s->uid};
	s->entrances[1].extra = &relay_port_service;
	s->entrances[1].extra_ctx = &s->machines;
	r = ipc_host_new(loop, &producer_port_service, &s->producers, &s->quota, &s->producer_host);
	if (r == 0)
		r = ipc_host_new(loop, &consumer_port_service, s, &s->quota, &s->consumer_host);
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
	/* Sessions go with their consumers, and stop the data sources of producers. */
	ipc_host_free(s->consumer_host);
	while (!TAILQ_EMPTY(&s->sessions)) /* detached */
		session_free(TAILQ_FIRST(&s->sessions));
	ipc_host_free(s->producer_host);
	recent_sessions_free(s->recent);
	remote_machines_deinit(&s->machines);
	quota_deinit(&s->quota);
	trigger_history_deinit(&s->trigger_history);
	free(s);
}

int service_listen_producers(struct service *s, int fd, const struct remote_allow *allow,
			     bool relay)
{
	struct ipc_entrance *e = &s->entrances[relay];

	e->allow = allow;
	return ipc_host_listen(s->producer_host, fd, e);
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
