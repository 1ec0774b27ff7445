/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The service of src/service on a thread of the program. A connection is a socketpair(2): libsonda
 * gets one end, and the service adopts the other end like an accepted connection.
 *
 *	sonda_service_connect() --fd, in a list--> wake (eventfd) --> service_adopt_*()
 *	sonda_service_stop() ------- stop -------> wake ------------> shutdown_begin(), thread ends
 *
 * The libraries do not call each other directly, so that commands, limits, accounts and the checks
 * of each frame are those of sondad, and the kernel wakes the other thread. Trace data goes through
 * shared memory, not through the socket.
 */
#include <errno.h>
#include <event2/event.h>
#include <pthread.h>
#include <sonda/config.h>
#include <sonda/service.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/core/cancel.h"
#include "base/core/mem.h"
#include "base/core/sized_struct.h"
#include "base/core/thread.h"
#include "base/event_loop/event_free.h"
#include "base/system/log.h"
#include "base/text/str.h"
#include "config/trace_config.h"
#include "lib/public.h"
#include "service/service.h"
#include "service/session/shutdown.h"

static int config_text_pack(const Pb__TraceConfig *config, void **ret, size_t *ret_len)
{
	size_t len = protobuf_c_message_get_packed_size(&config->base);
	uint8_t *bytes = malloc(len);

	if (!bytes)
		return -ENOMEM;
	*ret_len = protobuf_c_message_pack(&config->base, bytes);
	*ret = bytes;
	return 0;
}

SONDA_PUBLIC int sonda_config_from_text(const char *text, void **ret, size_t *ret_len,
					char **ret_errors)
{
	struct strbuf errors = {0};
	Pb__TraceConfig *config = NULL;
	int r = trace_config_load("config", text, strlen(text), TRACE_CONFIG_TEXT, &errors,
				  &config);

	if (r == 0)
		r = config_text_pack(config, ret, ret_len);
	pb__trace_config__free_unpacked(config, NULL);
	if (r == -EINVAL && ret_errors) {
		*ret_errors = strbuf_take(&errors);
		r = *ret_errors ? r : -ENOMEM;
	}
	strbuf_deinit(&errors);
	return r;
}

struct connection {
	struct connection *next;
	enum sonda_port port;
	int fd; /* owned */
};

struct sonda_service {
	pthread_t thread;
	/* While the thread runs, only it uses loop, service, wakeup and shutdown. */
	struct event_base *loop; /* owned */
	struct service *service; /* owned */
	struct event *wakeup; /* owned */
	struct shutdown shutdown;
	int wake; /* owned: eventfd */
	pthread_mutex_t lock; /* protects the fields below */
	struct connection *connections; /* owned: not adopted yet */
	bool stop;
};

/* ---- the thread ---- */

static void adopt_connections(struct sonda_service *s, struct connection *list)
{
	struct connection *next;

	for (; list; list = next) {
		next = list->next;
		if (list->port == SONDA_PORT_PRODUCER)
			service_adopt_producer(s->service, list->fd);
		else
			service_adopt_consumer(s->service, list->fd);
		free(list);
	}
}

static void on_wakeup(evutil_socket_t fd, short what, void *ctx)
{
	struct sonda_service *s = ctx;
	struct connection *connections;
	uint64_t count;
	bool stop;

	(void)!read(fd, &count, sizeof(count));
	pthread_mutex_lock(&s->lock);
	connections = TAKE_PTR(s->connections);
	stop = s->stop;
	pthread_mutex_unlock(&s->lock);
	adopt_connections(s, connections);
	if (stop)
		shutdown_begin(&s->shutdown);
}

static void *service_thread_run(void *ctx)
{
	struct sonda_service *s = ctx;

	pthread_setname_np(pthread_self(), "sonda-service");
	do
		service_tick(s->service);
	while (event_base_loop(s->loop, EVLOOP_ONCE) == 0 && !event_base_got_break(s->loop));
	shutdown_deinit(&s->shutdown);
	service_free(TAKE_PTR(s->service));
	return NULL;
}

/* ---- the program's threads ---- */

/* Static tables of src/service and src/base have no locks, so a process has one service at a
 * time. */
static atomic_flag is_taken = ATOMIC_FLAG_INIT;

static void init_process(bool log_to_stderr)
{
	log_init("sonda-service");
	log_set_level(log_to_stderr ? LOG_LEVEL_INFO : (enum log_level)0);
}

static void wake_service_thread(const struct sonda_service *s)
{
	uint64_t one = 1;

	(void)!write(s->wake, &one, sizeof(one));
}

static void free_service(struct sonda_service *s)
{
	struct connection *next;

	for (; s->connections; s->connections = next) {
		next = s->connections->next;
		closep(&s->connections->fd);
		free(s->connections);
	}
	shutdown_deinit(&s->shutdown);
	service_free(s->service);
	event_freep(&s->wakeup);
	event_base_freep(&s->loop);
	closep(&s->wake);
	pthread_mutex_destroy(&s->lock);
	free(s);
	atomic_flag_clear(&is_taken);
}

static int service_thread_set_up(struct sonda_service *s)
{
	int r;

	s->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->wake < 0)
		return -errno;
	s->loop = service_loop_new();
	if (!s->loop)
		return -ENOMEM;
	r = service_new(s->loop, NULL, &s->service);
	if (r == 0)
		r = shutdown_init(&s->shutdown, service_sessions(s->service));
	if (r < 0)
		return r;
	s->wakeup = event_new(s->loop, s->wake, EV_READ | EV_PERSIST, on_wakeup, s);
	return s->wakeup && event_add(s->wakeup, NULL) == 0 ? 0 : -ENOMEM;
}

SONDA_PUBLIC int sonda_service_start(const struct sonda_service_options *o,
				     struct sonda_service **ret)
{
	NO_CANCEL();
	struct sonda_service_options copy = {0};
	struct sonda_service *s;
	int r;

	if (o && sized_struct_copy(&copy, sizeof(copy), o) < 0)
		return -EINVAL;
	if (atomic_flag_test_and_set(&is_taken))
		return -EBUSY;
	init_process(copy.log_to_stderr);
	s = calloc(1, sizeof(*s));
	if (!s) {
		atomic_flag_clear(&is_taken);
		return -ENOMEM;
	}
	pthread_mutex_init(&s->lock, NULL);
	s->wake = -1;
	r = service_thread_set_up(s);
	if (r == 0)
		r = thread_start(&s->thread, 0, service_thread_run, s);
	if (r < 0) {
		free_service(s);
		return r;
	}
	*ret = s;
	return 0;
}

SONDA_PUBLIC int sonda_service_connect(void *service, enum sonda_port port)
{
	NO_CANCEL();
	struct sonda_service *s = service;
	struct connection *c;
	int ends[2];

	if (port != SONDA_PORT_PRODUCER && port != SONDA_PORT_CONSUMER)
		return -EINVAL;
	c = malloc(sizeof(*c));
	if (!c)
		return -ENOMEM;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0) {
		free(c);
		return -errno;
	}
	pthread_mutex_lock(&s->lock);
	*c = (struct connection){.next = s->connections, .port = port, .fd = ends[1]};
	s->connections = c;
	pthread_mutex_unlock(&s->lock);
	wake_service_thread(s);
	return ends[0];
}

SONDA_PUBLIC void sonda_service_stop(struct sonda_service *s)
{
	NO_CANCEL();
	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	s->stop = true;
	pthread_mutex_unlock(&s->lock);
	wake_service_thread(s);
	pthread_join(s->thread, NULL);
	free_service(s);
}
