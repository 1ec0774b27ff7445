/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The library as a whole: its thread, its services (backend.c), and its handlers for fork() and
 * exit().
 *
 * After fork() the child has the registered data sources and nothing else: no thread, no
 * connection, no shared memory. It may call sonda_init().
 */
#include <sonda/sonda.h>

#include <errno.h>
#include <pthread.h>

#include "base/core/cancel.h"
#include "base/core/mem.h"
#include "base/core/sized_struct.h"
#include "base/core/version.h"
#include "lib/api/backend.h"
#include "lib/data_source/source.h"
#include "lib/data_source/startup.h"
#include "lib/library_loop.h"
#include "lib/public.h"
#include "lib/session/sessions.h"
#include "lib/threads/thread.h"
#include "lib/track_event/track_event.h"

#define STARTUP_MS 10000u
#define BACKENDS (SONDA_BACKEND_SYSTEM | SONDA_BACKEND_NONE)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* serializes init and shutdown */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool initialized; /* protected by lock */
static struct sonda_init_options options; /* protected by lock */
static struct sonda_backend system_service; /* zeroed: none */

SONDA_PUBLIC const char *sonda_version(void)
{
	return SONDA_VERSION;
}

SONDA_PUBLIC int sonda_wait_connected(int timeout_ms)
{
	return io_loop_runs(&library_loop) ? backend_wait(&system_service, timeout_ms) : -ENOTCONN;
}

/* ---- fork ---- */

static void before_fork(void)
{
	pthread_mutex_lock(&lock);
	track_event_before_fork();
	threads_before_fork();
	sources_before_fork();
	io_loop_before_fork(&library_loop);
}

static void after_fork_in_parent(void)
{
	io_loop_after_fork_in_parent(&library_loop);
	sources_after_fork_in_parent();
	threads_after_fork();
	track_event_after_fork_in_parent();
	pthread_mutex_unlock(&lock);
}

static void after_fork_in_child(void)
{
	sources_after_fork_in_child();
	startup_after_fork_in_child();
	sources_clear_instances();
	threads_free_others();
	track_event_after_fork_in_child();
	backends_after_fork_in_child();
	sessions_after_fork_in_child();
	io_loop_after_fork_in_child(&library_loop);
	pthread_mutex_init(&lock, NULL);
	initialized = false;
}

static void init_once(void)
{
	backends_init();
	sources_on_change = backends_sources_changed;
	sources_on_removed = backends_source_removed;
	pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
	threads_init();
}

/* ---- init, shutdown ---- */

struct start {
	struct io_task task;
	int result;
};

static void on_startup_trouble(const char *sentence)
{
	if (options.on_trouble)
		options.on_trouble(options.ctx, sentence);
}

static void on_start(struct io_task *t)
{
	struct start *s = container_of(t, struct start, task);
	const struct sonda_backend_options o = {
		.producer_socket = options.producer_socket,
		.producer_name = options.producer_name,
		.shm_size = options.shm_size,
		.shm_page_size = options.shm_page_size,
		.on_trouble = options.on_trouble,
		.ctx = options.ctx,
	};

	if (options.startup_categories)
		s->result = track_event_begin_startup(
			options.startup_categories,
			options.startup_ms ? options.startup_ms : STARTUP_MS, on_startup_trouble);
	if (s->result == 0 && !(options.backends & SONDA_BACKEND_NONE)) {
		s->result = backend_set_up(&system_service, &o);
		if (s->result == 0)
			s->result = backend_begin(&system_service);
	}
	if (s->result < 0)
		startup_end();
}

static void init_on_end(struct io_task *t)
{
	startup_end();
	backends_end();
	backend_deinit(&system_service);
	sessions_disconnect();
}

/* Starts the library's thread and connects to the service. Returns 0 or -errno. Call it with lock
 * held. */
static int init_start(void)
{
	struct start s = {.task = {.fn = on_start}};
	int r = track_event_init();

	if (r == 0)
		r = io_loop_start(&library_loop, "libsonda");
	if (r < 0)
		return r;
	io_call(&library_loop, &s.task);
	if (s.result < 0)
		io_loop_stop(&library_loop);
	return s.result;
}

SONDA_PUBLIC int sonda_init(const struct sonda_init_options *o)
{
	NO_CANCEL();
	struct sonda_init_options copy = {0};
	int r = 0;

	if (o && (sized_struct_copy(&copy, sizeof(copy), o) < 0 ||
		  (copy.backends & ~(unsigned)BACKENDS)))
		return -EINVAL;
	pthread_once(&once, init_once);
	pthread_mutex_lock(&lock);
	if (!initialized) {
		options = copy;
		r = init_start();
		initialized = r == 0;
	}
	pthread_mutex_unlock(&lock);
	return r;
}

SONDA_PUBLIC void sonda_shutdown(void)
{
	NO_CANCEL();
	struct io_task end = {.fn = init_on_end};

	if (io_loop_is_current(&library_loop))
		return;
	pthread_mutex_lock(&lock);
	if (initialized) {
		io_call(&library_loop, &end);
		io_loop_stop(&library_loop);
		initialized = false;
	}
	pthread_mutex_unlock(&lock);
}

/* Runs at exit(), and when the library is unloaded. */
__attribute__((destructor)) static void at_end(void)
{
	sonda_shutdown();
	threads_deinit();
}
