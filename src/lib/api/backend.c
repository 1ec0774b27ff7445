/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/api/backend.h"

#include <sonda/sonda.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/cancel.h"
#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/core/sized_struct.h"
#include "client/producer/service_producer.h"
#include "lib/public.h"
#include "lib/session/sessions.h"

#define SHM_SIZE (1u << 20)
#define SHM_PAGE_SIZE 4096u

static struct sonda_backend *backends; /* on the loop's thread */
static pthread_mutex_t lock; /* protects `connected` of all backends */
static pthread_cond_t changed; /* uses CLOCK_MONOTONIC */

void backends_init(void)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_mutex_init(&lock, NULL);
	pthread_cond_init(&changed, &attr);
	pthread_condattr_destroy(&attr);
}

/* ---- triggers ---- */

struct trigger {
	struct io_task task; /* on_trigger(); unused in copies that wait */
	struct trigger *next;
	uint64_t expires; /* CLOCK_MONOTONIC ns */
	size_t len;
	uint8_t args[]; /* ActivateTriggersRequest */
};

static struct trigger *trigger_new(const void *args, size_t len, uint64_t expires)
{
	struct trigger *x = calloc(1, sizeof(*x) + len);

	if (!x)
		return NULL;
	x->expires = expires;
	x->len = len;
	memcpy(x->args, args, len);
	return x;
}

static void backend_keep_trigger(struct sonda_backend *b, const struct trigger *t)
{
	struct trigger *x = trigger_new(t->args, t->len, t->expires);

	if (!x)
		return;
	x->next = b->waiting;
	b->waiting = x;
}

static void on_trigger(struct io_task *task)
{
	struct trigger *t = container_of(task, struct trigger, task);

	for (struct sonda_backend *b = backends; b; b = b->next)
		if (service_producer_activate_triggers(b->producer, t->args, t->len) == -ENOTCONN)
			backend_keep_trigger(b, t);
	free(t);
}

static void send_triggers(struct sonda_backend *b)
{
	struct trigger *list = TAKE_PTR(b->waiting), *next;
	uint64_t now = clock_mono_ns();

	for (; list; list = next) {
		next = list->next;
		if (now < list->expires)
			service_producer_activate_triggers(b->producer, list->args, list->len);
		free(list);
	}
}

static void drop_triggers(struct sonda_backend *b)
{
	struct trigger *next;

	for (; b->waiting; b->waiting = next) {
		next = b->waiting->next;
		free(b->waiting);
	}
}

SONDA_PUBLIC int sonda_activate_triggers(const char *const *names, size_t n, unsigned ttl_ms)
{
	struct sonda_packet *m;
	struct trigger *t;
	const void *args;
	size_t len = 0;

	if (!io_loop_runs(&library_loop))
		return -ENOTCONN;
	m = sonda_message_new();
	if (!m)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		sonda_packet_str(m, 1, names[i]);
	args = sonda_message_data(m, &len);
	t = args ? trigger_new(args, len, clock_mono_ns() + ttl_ms * NS_PER_MS) : NULL;
	sonda_message_free(m);
	if (!t)
		return -ENOMEM;
	t->task.fn = on_trigger;
	io_post(&library_loop, &t->task);
	return 0;
}

/* ---- one service ---- */

static void set_connected(struct sonda_backend *b, bool yes)
{
	pthread_mutex_lock(&lock);
	b->connected = yes;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

static void on_trouble(void *ctx, const char *sentence)
{
	const struct sonda_backend *b = ctx;

	if (b->o.on_trouble)
		b->o.on_trouble(b->o.ctx, sentence);
}

static void backend_on_connected(void *ctx, bool yes)
{
	set_connected(ctx, yes);
	if (yes)
		send_triggers(ctx);
}

/* Connects a channel through the program's own transport. Returns the descriptor or -errno. */
static int backend_connect(void *ctx, enum channel_port port)
{
	const struct sonda_backend *b = ctx;

	_Static_assert((int)CHANNEL_PRODUCER == (int)SONDA_PORT_PRODUCER &&
			       (int)CHANNEL_CONSUMER == (int)SONDA_PORT_CONSUMER,
		       "one numbering");
	return b->o.connect(b->o.ctx, (enum sonda_port)port);
}

static void backend_read_program_name(char *name, size_t size)
{
	int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, name, size - 1) : -1;

	closep(&fd);
	if (n > 0)
		name[n] = '\0'; /* the first argument ends at its NUL */
	else
		snprintf(name, size, "pid %d", (int)getpid());
}

int backend_begin(struct sonda_backend *b)
{
	char name[4096];
	const struct service_producer_options o = {
		.loop = &library_loop,
		.target = {.address = b->o.producer_socket,
			   .connect = b->o.connect ? backend_connect : NULL,
			   .ctx = b},
		.name = b->o.producer_name ? b->o.producer_name : name,
		.shm_size = b->o.shm_size ? b->o.shm_size : SHM_SIZE,
		.shm_page_size = b->o.shm_page_size ? b->o.shm_page_size : SHM_PAGE_SIZE,
		.own_memory = b->o.own_memory,
		.sources = &source_commands,
		.sources_ctx = &b->host,
		.on_connected = backend_on_connected,
		.on_trouble = on_trouble,
		.ctx = b,
	};
	int r;

	backend_read_program_name(name, sizeof(name));
	r = service_producer_new(&o, &b->producer);
	if (r < 0)
		return r;
	b->next = backends;
	backends = b;
	return 0;
}

/* Ends the connection of b and drops its waiting triggers. No-op if b has ended. */
static void backend_end(struct sonda_backend *b)
{
	for (struct sonda_backend **p = &backends; *p; p = &(*p)->next)
		if (*p == b) {
			*p = b->next;
			break;
		}
	service_producer_free(TAKE_PTR(b->producer));
	drop_triggers(b);
	set_connected(b, false);
}

int backend_wait(struct sonda_backend *b, int timeout_ms)
{
	NO_CANCEL();
	uint64_t ns = clock_mono_ns() + (uint64_t)MAX(timeout_ms, 0) * NS_PER_MS;
	const struct timespec end = {.tv_sec = (time_t)(ns / NS_PER_S),
				     .tv_nsec = (long)(ns % NS_PER_S)};
	int r = 0;

	pthread_mutex_lock(&lock);
	while (!b->connected && r == 0)
		r = pthread_cond_timedwait(&changed, &lock, &end);
	r = b->connected ? 0 : -ETIMEDOUT;
	pthread_mutex_unlock(&lock);
	return r;
}

static int backend_copy_text(const char **text)
{
	if (!*text)
		return 0;
	*text = strdup(*text);
	return *text ? 0 : -ENOMEM;
}

int backend_set_up(struct sonda_backend *b, const struct sonda_backend_options *o)
{
	int r, s, t;

	b->o = *o;
	r = backend_copy_text(&b->o.producer_socket);
	s = backend_copy_text(&b->o.consumer_socket);
	t = backend_copy_text(&b->o.producer_name);
	if (r == 0 && s == 0 && t == 0)
		return 0;
	backend_deinit(b);
	return -ENOMEM;
}

void backend_deinit(struct sonda_backend *b)
{
	free((char *)b->o.producer_socket);
	free((char *)b->o.consumer_socket);
	free((char *)b->o.producer_name);
	b->o = (struct sonda_backend_options){0};
}

/* ---- all services ---- */

void backends_end(void)
{
	while (backends)
		backend_end(backends);
}

void backends_after_fork_in_child(void)
{
	backends_init();
	for (struct sonda_backend *b = backends; b; b = b->next) {
		service_producer_after_fork_in_child(b->producer);
		b->producer = NULL;
		b->waiting = NULL;
		b->connected = false;
	}
	backends = NULL;
}

void backends_sources_changed(void)
{
	for (struct sonda_backend *b = backends; b; b = b->next)
		service_producer_sources_changed(b->producer);
}

void backends_source_removed(unsigned index, const char *name)
{
	for (struct sonda_backend *b = backends; b; b = b->next)
		service_producer_source_removed(b->producer, index, name);
}

/* ---- public ---- */

static void on_add(struct io_task *t)
{
	struct sonda_backend *b = container_of(t, struct sonda_backend, task);

	/* The loop may have ended since the check in sonda_backend_add(). */
	b->result = io_loop_is_current(&library_loop) ? backend_begin(b) : -ENOTCONN;
}

static void on_remove(struct io_task *t)
{
	backend_end(container_of(t, struct sonda_backend, task));
}

SONDA_PUBLIC int sonda_backend_add(const struct sonda_backend_options *options,
				   struct sonda_backend **ret)
{
	struct sonda_backend_options o;
	struct sonda_backend *b;
	int r;

	if (!options || sized_struct_copy(&o, sizeof(o), options) < 0)
		return -EINVAL;
	if (!io_loop_runs(&library_loop))
		return -ENOTCONN;
	b = calloc(1, sizeof(*b));
	r = b ? backend_set_up(b, &o) : -ENOMEM;
	if (r < 0) {
		free(b);
		return r;
	}
	b->task.fn = on_add;
	io_call(&library_loop, &b->task);
	if (b->result < 0) {
		r = b->result;
		backend_deinit(b);
		free(b);
		return r;
	}
	*ret = b;
	return 0;
}

SONDA_PUBLIC int sonda_backend_wait(struct sonda_backend *b, int timeout_ms)
{
	return io_loop_runs(&library_loop) ? backend_wait(b, timeout_ms) : -ENOTCONN;
}

SONDA_PUBLIC void sonda_backend_remove(struct sonda_backend *b)
{
	if (!b)
		return;
	b->task.fn = on_remove;
	io_call(&library_loop, &b->task);
	backend_deinit(b);
	free(b);
}

SONDA_PUBLIC int sonda_session_new_on(struct sonda_backend *b, int timeout_ms,
				      struct sonda_session **ret)
{
	const struct channel_target target = {.address = b->o.consumer_socket,
					      .connect = b->o.connect ? backend_connect : NULL,
					      .ctx = b};

	return session_new(&target, timeout_ms, ret);
}
