/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: event_hooks
 *
 * Writes track events where the library itself is on the stack: in every callback of a data source,
 * and in hooks of the allocator, whatever allocates. None may deadlock, and each is written or
 * dropped. Runs for one session that records category "hooks" and data source "sonda.test.hooks".
 */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <sonda/sonda.h>

SONDA_CATEGORY_DEFINE(hooks, "hooks");

#define THREADS 4
#define EVENTS 20000

/* ---- hooks of the allocator; a sanitizer has its own ---- */

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);

void *malloc(size_t size)
{
	SONDA_INSTANT(hooks, "malloc", SONDA_UINT("size", size));
	return __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	SONDA_INSTANT(hooks, "calloc", SONDA_UINT("size", n * size));
	return __libc_calloc(n, size);
}

void *realloc(void *p, size_t size)
{
	SONDA_INSTANT(hooks, "realloc", SONDA_UINT("size", size));
	return __libc_realloc(p, size);
}
#endif

/* ---- callbacks ---- */

static struct sonda_data_source source = SONDA_DATA_SOURCE_INIT;
static unsigned called; /* a bit a callback */

static void trace_in(unsigned bit, const char *name)
{
	struct sonda_session *s = NULL;

	__atomic_fetch_or(&called, 1u << bit, __ATOMIC_RELAXED);
	SONDA_INSTANT_DYNAMIC(hooks, name);
	if (sonda_session_new(NULL, -1, &s) != -EDEADLK)
		abort();
}

static int on_setup(void *ctx, const struct sonda_setup *setup, void **ret_instance)
{
	(void)ctx, (void)setup, (void)ret_instance;
	trace_in(0, "setup");
	return 0;
}

static void on_start(void *ctx, void *instance)
{
	(void)ctx, (void)instance;
	trace_in(1, "start");
}

static void on_stop(void *ctx, void *instance, struct sonda_answer *answer)
{
	(void)ctx, (void)instance, (void)answer;
	trace_in(2, "stop");
}

static void on_flush(void *ctx, void *instance, uint64_t flags, struct sonda_answer *answer)
{
	(void)ctx, (void)instance, (void)flags, (void)answer;
	trace_in(3, "flush");
}

static void on_clear(void *ctx, void *instance)
{
	(void)ctx, (void)instance;
	trace_in(4, "clear");
}

static void on_destroy(void *ctx, void *instance)
{
	(void)ctx, (void)instance;
	trace_in(5, "destroy");
}

static void on_thread_state_free(void *ctx, void *state)
{
	(void)ctx, (void)state;
	SONDA_INSTANT(hooks, "thread state");
}

/* ---- */

static void *write_events(void *arg)
{
	for (unsigned i = 0; i < EVENTS; i++) {
		struct sonda_track t = sonda_track_named("many", i % 3000, NULL);

		SONDA_INSTANT(hooks, "event", SONDA_TRACK(&t), SONDA_UINT("n", i));
		free(malloc(i % 100 + 1));
	}
	SONDA_TRACE(&source, w)
	{
		struct sonda_packet *p = sonda_packet_begin(w);

		sonda_packet_u64(p, 8, sonda_now());
		SONDA_INSTANT(hooks, "inside another packet");
		sonda_packet_end(w);
	}
	return arg;
}

int main(void)
{
	static const struct sonda_data_source_callbacks callbacks = {
		.on_setup = on_setup,
		.on_start = on_start,
		.on_stop = on_stop,
		.on_flush = on_flush,
		.on_clear = on_clear,
		.on_destroy = on_destroy,
		.on_thread_state_free = on_thread_state_free,
	};
	const struct sonda_data_source_options options = {.size = sizeof(options),
							  .name = "sonda.test.hooks",
							  .callbacks = &callbacks,
							  .thread_state_size = 8,
							  .handles_incremental_state_clear = true};
	pthread_t threads[THREADS];

	if (sonda_data_source_register(&source, &options) != 0 || sonda_init(NULL) != 0 ||
	    sonda_wait_connected(20000) != 0)
		return 1;
	while (!sonda_category_enabled(&hooks) || !sonda_data_source_enabled(&source))
		usleep(1000);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, write_events, NULL);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	while (!(__atomic_load_n(&called, __ATOMIC_RELAXED) & 1u << 4))
		usleep(1000);
	sonda_activate_triggers((const char *const[]){"sonda.test.hooks.end"}, 1, 0);
	while (__atomic_load_n(&called, __ATOMIC_RELAXED) != 0x3f)
		usleep(1000);
	sonda_shutdown();
	puts("done");
	return 0;
}
