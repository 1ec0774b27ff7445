/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "service_peer_consumer.h"

/*
 * The latency of the service for one consumer, on a machine that may be busy:
 *
 *	     request                                                 answer
 *	|----------|-- the service waits --|-- it runs, or is blocked --|----------|
 *	 we wait             for a CPU                                     we wait
 *	for a CPU                                                         for a CPU
 *
 * What has a limit is the time on the clock without what both processes waited for a
 * CPU: it does not depend on what else runs on the machine, and includes the time in which a call,
 * a lock or another thread blocks the service's loop. The kernel counts the waits (schedstat), and
 * what a hypervisor took (steal).
 *
 * So that the service's answer is seen when it comes, this process should run with a real-time
 * priority.
 */

struct latency {
	int pid; /* the service */
	struct peer peer; /* fd -1: not connected; large */
};

/* In ns. */
struct latency_sample {
	uint64_t cpu; /* CPU time of the service's loop */
	uint64_t served; /* on the clock, without waiting for a CPU */
	uint64_t clock;
};

/* Sets the CPU time of a process' first thread, and the time that it has waited for a CPU, in
 * ns. */
static inline void latency_read_times(int pid, uint64_t *ret_run, uint64_t *ret_wait)
{
	char path[64];
	FILE *f;

	*ret_run = *ret_wait = 0;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", pid, pid);
	f = fopen(path, "r");
	if (!f || fscanf(f, "%" SCNu64 " %" SCNu64, ret_run, ret_wait) != 2)
		*ret_run = 0;
	if (f)
		fclose(f);
}

static inline uint64_t latency_cpu_ns(const struct latency *l)
{
	uint64_t run, wait;

	latency_read_times(l->pid, &run, &wait);
	return run;
}

/* Without a real-time priority this process runs late, before it asks and after the answer has
 * come. */
static inline uint64_t latency_own_wait_ns(void)
{
	uint64_t run, wait;

	latency_read_times(getpid(), &run, &wait);
	return wait;
}

/* Time that a hypervisor ran something else on our CPUs, in steps of 10 ms. */
static inline uint64_t latency_stolen_ns(void)
{
	unsigned long long ticks = 0;
	FILE *f = fopen("/proc/stat", "r");

	if (f && fscanf(f, "cpu %*u %*u %*u %*u %*u %*u %*u %llu", &ticks) != 1)
		ticks = 0;
	if (f)
		fclose(f);
	return ticks * (NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK));
}

static inline void latency_take_priority(void)
{
	const struct sched_param first = {.sched_priority = 1};

	(void)sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &first);
}

/* Returns when the service works on something else, or has nothing to do. */
static inline void latency_let_it_work(const struct latency *l)
{
	uint64_t before = latency_cpu_ns(l), end = clock_mono_ns() + 20 * NS_PER_MS;

	while (latency_cpu_ns(l) - before < NS_PER_MS && clock_mono_ns() < end)
		usleep(500);
}

/* The queue of new connections may be full of other peers. */
static inline void latency_connect(struct latency *l, const char *address)
{
	int fd;

	if (l->peer.fd >= 0)
		peer_close(&l->peer);
	while (sock_connect(address, &fd) == -EAGAIN)
		usleep(100);
	peer_init(&l->peer, fd);
}

/* Sends one query, over a new connection if connect is set. Returns false if no answer comes. */
static inline bool latency_ask(struct latency *l, const char *address, bool connect,
			       struct latency_sample *ret)
{
	uint64_t run[2], wait[2], late = latency_own_wait_ns() + latency_stolen_ns(), begin;

	latency_read_times(l->pid, &run[0], &wait[0]);
	begin = clock_mono_ns();
	if (connect)
		latency_connect(l, address);
	if (!peer_accepted(&l->peer, peer_call(&l->peer, C_QUERY_CAPABILITIES, NULL, 0)))
		return false;
	ret->clock = clock_mono_ns() - begin;
	latency_read_times(l->pid, &run[1], &wait[1]);
	late = latency_own_wait_ns() + latency_stolen_ns() - late;
	ret->cpu = run[1] - run[0] - MIN(run[1] - run[0], late);
	ret->served = ret->clock - MIN(ret->clock, late + wait[1] - wait[0]);
	return true;
}

static inline int latency_compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}
