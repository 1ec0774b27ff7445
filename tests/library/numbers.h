/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sonda/sonda.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/*
 * A data source of numbered packets, for the programs of this directory. They use the installed
 * headers and the library, and nothing else of this tree. tests/system/library_check.c reads what
 * they write:
 *
 *	TracePacket { timestamp = 8, for_testing = 900 { writer = 2, number = 3, payload = 5 } }
 */

static struct sonda_data_source numbers = SONDA_DATA_SOURCE_INIT;

static struct {
	unsigned setups, starts, stops, destroys, flushes, clears, states;
} seen;

static int numbers_on_setup(void *ctx, const struct sonda_setup *setup, void **ret_instance)
{
	(void)ctx;
	__atomic_fetch_add(&seen.setups, 1, __ATOMIC_RELAXED);
	*ret_instance = calloc(1, 16);
	memcpy(*ret_instance, &setup->session_id, sizeof(setup->session_id));
	return 0;
}

static void numbers_on_start(void *ctx, void *instance)
{
	(void)ctx, (void)instance;
	__atomic_fetch_add(&seen.starts, 1, __ATOMIC_RELAXED);
}

static void numbers_on_stop(void *ctx, void *instance, struct sonda_answer *answer)
{
	(void)ctx, (void)instance, (void)answer;
	__atomic_fetch_add(&seen.stops, 1, __ATOMIC_RELAXED);
}

static void numbers_on_flush(void *ctx, void *instance, uint64_t flags, struct sonda_answer *answer)
{
	(void)ctx, (void)instance, (void)flags, (void)answer;
	__atomic_fetch_add(&seen.flushes, 1, __ATOMIC_RELAXED);
}

static void numbers_on_clear(void *ctx, void *instance)
{
	(void)ctx, (void)instance;
	__atomic_fetch_add(&seen.clears, 1, __ATOMIC_RELAXED);
}

static void numbers_on_destroy(void *ctx, void *instance)
{
	(void)ctx;
	__atomic_fetch_add(&seen.destroys, 1, __ATOMIC_RELAXED);
	free(instance);
}

static void numbers_on_state_free(void *ctx, void *state)
{
	(void)ctx, (void)state;
	__atomic_fetch_add(&seen.states, 1, __ATOMIC_RELAXED);
}

static inline void trouble(void *ctx, const char *sentence)
{
	(void)ctx;
	fprintf(stderr, "%s\n", sentence);
}

static inline void numbers_register(enum sonda_full_policy policy)
{
	static const struct sonda_data_source_callbacks callbacks = {
		.on_setup = numbers_on_setup,
		.on_start = numbers_on_start,
		.on_stop = numbers_on_stop,
		.on_flush = numbers_on_flush,
		.on_clear = numbers_on_clear,
		.on_destroy = numbers_on_destroy,
		.on_thread_state_free = numbers_on_state_free,
	};
	struct sonda_data_source_options o = {
		.size = sizeof(o),
		.name = "sonda.test.numbers",
		.callbacks = &callbacks,
		.thread_state_size = 40,
		.full_policy = policy,
		.handles_incremental_state_clear = true,
	};

	if (sonda_data_source_register(&numbers, &o) != 0)
		abort();
}

static inline void numbers_init(void)
{
	struct sonda_init_options o = {.size = sizeof(o), .on_trouble = trouble};

	if (sonda_init(&o) != 0 || sonda_wait_connected(20000) != 0) {
		fprintf(stderr, "no connection\n");
		exit(1);
	}
}

/* Waits until an expression is true, at most a minute. */
#define WAIT_FOR(what)                                                                             \
	do {                                                                                       \
		for (int left_ = 60000; !(what); left_--) {                                        \
			if (left_ == 0) {                                                          \
				fprintf(stderr, "never: %s\n", #what);                             \
				exit(1);                                                           \
			}                                                                          \
			usleep(1000);                                                              \
		}                                                                                  \
	} while (0)

static inline void numbers_wait_for_start(void)
{
	WAIT_FOR(sonda_data_source_enabled(&numbers));
}

/* Writes one packet for each session. Returns how many. */
static inline unsigned numbers_write(unsigned writer, uint64_t number, size_t payload)
{
	static const char bytes[4096];
	unsigned n = 0;

	SONDA_TRACE(&numbers, w)
	{
		struct sonda_packet *p = sonda_packet_begin(w);

		sonda_packet_u64(p, 8, sonda_now());
		sonda_packet_open(p, 900);
		sonda_packet_u64(p, 2, writer);
		sonda_packet_u64(p, 3, number);
		for (; payload > sizeof(bytes); payload -= sizeof(bytes))
			sonda_packet_bytes(p, 5, bytes, sizeof(bytes));
		if (payload)
			sonda_packet_bytes(p, 5, bytes, payload);
		sonda_packet_close(p);
		sonda_packet_end(w);
		n++;
	}
	return n;
}

static inline void say(const char *what)
{
	printf("%s\n", what);
	fflush(stdout);
}
