/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The library as a whole: its thread, its connection to the service, and what happens when the
 * process forks or ends.
 *
 * After fork() the child has the registered data sources and nothing else: no thread, no
 * connection, no shared memory. It may call sonda_init().
 */
#include <sonda/sonda.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "lib/data_source/source.h"
#include "lib/data_source/startup.h"
#include "lib/loop/loop.h"
#include "lib/producer/producer.h"
#include "lib/public.h"
#include "lib/session/sessions.h"
#include "lib/threads/thread.h"
#include "lib/track_event/track_event_source.h"

#define SHM_SIZE (1u << 20)
#define SHM_PAGE_SIZE 4096u
#define STARTUP_MS 10000u
#define BACKENDS (SONDA_BACKEND_SYSTEM | SONDA_BACKEND_NONE)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of init and shutdown */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool initialized; /* with lock */
static pthread_mutex_t state_lock = PTHREAD_MUTEX_INITIALIZER; /* of connected */
static pthread_cond_t state_changed; /* by the monotonic clock */
static bool connected;
static struct sonda_init_options options; /* with lock */

/* On the loop's thread: */
static struct service_producer *producer;

SONDA_PUBLIC const char *sonda_version(void)
{
	return "0.1.0";
}

/* ---- triggers ---- */

struct trigger {
	struct loop_task task;
	uint64_t expires; /* CLOCK_MONOTONIC ns */
	struct trigger *next;
	size_t len;
	uint8_t args[]; /* ActivateTriggersRequest */
};

static struct trigger *waiting; /* for a service; on the loop's thread */

static void on_trigger(struct loop_task *t)
{
	struct trigger *x = container_of(t, struct trigger, task);

	if (producer &&
	    service_producer_activate_triggers(producer, x->args, x->len) == -ENOTCONN) {
		x->next = waiting;
		waiting = x;
	} else {
		free(x);
	}
}

static void send_triggers(void)
{
	struct trigger *list = TAKE_PTR(waiting), *next;
	uint64_t now = clock_mono_ns();

	for (; list; list = next) {
		next = list->next;
		if (now < list->expires)
			on_trigger(&list->task);
		else
			free(list);
	}
}

static void forget_triggers(void)
{
	struct trigger *next;

	for (; waiting; waiting = next) {
		next = waiting->next;
		free(waiting);
	}
}

SONDA_PUBLIC int sonda_activate_triggers(const char *const *names, size_t n, unsigned ttl_ms)
{
	struct sonda_packet *m;
	const void *args;
	struct trigger *x;
	size_t len = 0;

	if (!loop_runs())
		return -ENOTCONN;
	m = sonda_message_new();
	if (!m)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		sonda_packet_str(m, 1, names[i]);
	args = sonda_message_data(m, &len);
	x = args ? malloc(sizeof(*x) + len) : NULL;
	if (x) {
		*x = (struct trigger){.task = {.fn = on_trigger},
				      .expires = clock_mono_ns() + ttl_ms * NS_PER_MS,
				      .len = len};
		memcpy(x->args, args, len);
		loop_post(&x->task);
	}
	sonda_message_free(m);
	return x ? 0 : -ENOMEM;
}

/* ---- the connection ---- */

static void on_connected(void *ctx, bool yes)
{
	(void)ctx;
	pthread_mutex_lock(&state_lock);
	connected = yes;
	pthread_cond_broadcast(&state_changed);
	pthread_mutex_unlock(&state_lock);
	if (yes)
		send_triggers();
}

static void on_sources_change(void)
{
	if (producer)
		service_producer_sources_changed(producer);
}

static void on_source_removed(unsigned index, const char *name)
{
	if (producer)
		service_producer_source_removed(producer, index, name);
}

SONDA_PUBLIC int sonda_wait_connected(int timeout_ms)
{
	struct timespec end;
	int r = 0;

	if (!loop_runs())
		return -ENOTCONN;
	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += timeout_ms / 1000;
	end.tv_nsec += (long)(timeout_ms % 1000) * 1000000;
	if (end.tv_nsec >= 1000000000) {
		end.tv_sec++;
		end.tv_nsec -= 1000000000;
	}
	pthread_mutex_lock(&state_lock);
	while (!connected && r == 0)
		r = pthread_cond_timedwait(&state_changed, &state_lock, &end);
	r = connected ? 0 : -ETIMEDOUT;
	pthread_mutex_unlock(&state_lock);
	return r;
}

/* ---- fork ---- */

static void before_fork(void)
{
	pthread_mutex_lock(&lock);
	track_event_before_fork();
	threads_before_fork();
	sources_before_fork();
	loop_before_fork();
}

static void after_fork(void)
{
	loop_after_fork();
	sources_after_fork();
	threads_after_fork();
	track_event_after_fork_in_parent();
	pthread_mutex_unlock(&lock);
}

static void init_state(void)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_mutex_init(&state_lock, NULL);
	pthread_cond_init(&state_changed, &attr);
	pthread_condattr_destroy(&attr);
	connected = false;
}

static void in_child(void)
{
	sources_forget_instances();
	threads_forget_others();
	track_event_after_fork_in_child();
	if (producer)
		service_producer_forget(producer);
	producer = NULL;
	sessions_forget();
	loop_forget();
	init_state();
	pthread_mutex_init(&lock, NULL);
	initialized = false;
	waiting = NULL;
}

static void init_once(void)
{
	init_state();
	sources_on_change = on_sources_change;
	sources_on_removed = on_source_removed;
	pthread_atfork(before_fork, after_fork, in_child);
	threads_init();
}

/* ---- init, shutdown ---- */

static void read_name(char *name, size_t size)
{
	int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, name, size - 1) : -1;

	closep(&fd);
	if (n > 0)
		name[n] = '\0'; /* the first word ends at its NUL */
	else
		snprintf(name, size, "pid %d", (int)getpid());
}

struct start {
	struct loop_task task;
	int result;
};

static void on_startup_trouble(const char *sentence)
{
	if (options.on_trouble)
		options.on_trouble(options.ctx, sentence);
}

static void on_start(struct loop_task *t)
{
	struct start *s = container_of(t, struct start, task);
	char name[4096];
	const struct service_producer_options o = {
		.socket = options.producer_socket,
		.name = options.producer_name ? options.producer_name : name,
		.shm_size = options.shm_size ? options.shm_size : SHM_SIZE,
		.shm_page_size = options.shm_page_size ? options.shm_page_size : SHM_PAGE_SIZE,
		.on_connected = on_connected,
		.on_trouble = options.on_trouble,
		.ctx = options.ctx,
	};

	if (options.backends & SONDA_BACKEND_NONE)
		return;
	if (options.startup_categories)
		s->result = track_event_begin_startup(
			options.startup_categories,
			options.startup_ms ? options.startup_ms : STARTUP_MS, on_startup_trouble);
	read_name(name, sizeof(name));
	if (s->result == 0)
		s->result = service_producer_new(&o, &producer);
	if (s->result < 0)
		startup_end();
}

static void on_end(struct loop_task *t)
{
	(void)t;
	startup_end();
	service_producer_free(TAKE_PTR(producer));
	sessions_lost();
	forget_triggers();
}

/* lock is held */
static int start(void)
{
	struct start s = {.task = {.fn = on_start}};
	int r = track_event_init();

	if (r == 0)
		r = loop_start();
	if (r < 0)
		return r;
	loop_call(&s.task);
	if (s.result < 0)
		loop_stop();
	return s.result;
}

SONDA_PUBLIC int sonda_init(const struct sonda_init_options *o)
{
	int r = 0;

	if (o && (o->size < sizeof(*o) || (o->backends & ~(unsigned)BACKENDS)))
		return -EINVAL;
	pthread_once(&once, init_once);
	pthread_mutex_lock(&lock);
	if (!initialized) {
		options = o ? *o : (struct sonda_init_options){0};
		r = start();
		initialized = r == 0;
	}
	pthread_mutex_unlock(&lock);
	return r;
}

SONDA_PUBLIC void sonda_shutdown(void)
{
	struct loop_task end = {.fn = on_end};

	if (loop_is_here())
		return;
	pthread_mutex_lock(&lock);
	if (initialized) {
		loop_call(&end);
		loop_stop();
		initialized = false;
		on_connected(NULL, false);
	}
	pthread_mutex_unlock(&lock);
}

/* At exit(), or when the library is unloaded. */
__attribute__((destructor)) static void at_end(void)
{
	sonda_shutdown();
	threads_deinit();
}
