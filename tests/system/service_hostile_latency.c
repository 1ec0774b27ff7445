/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: service_hostile_latency PID [ATTACK]
 *
 * How long another consumer waits for an answer of the service, the process PID, while a process of
 * another user does its worst (service_attacker.h). What is judged is the CPU time of the service's
 * loop between the request and the answer: the time on the clock, which is printed too, is also that
 * of a busy machine.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/system/fs.h"
#include "base/system/sanitizer.h"
#include "service_attacks_data.h"

enum { ROUNDS = 60, ANSWER_MS = 100, TRIES = 40 };

static int service_pid;

/* ---- the other consumer ---- */

/* What the first thread of a process has run, and waited for a CPU, so far, in ns. */
static void read_times(int pid, uint64_t *ret_run, uint64_t *ret_wait)
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

/* CPU time of the service's loop so far. */
static uint64_t cpu_ns(void)
{
	uint64_t run, wait;

	read_times(service_pid, &run, &wait);
	return run;
}

/* On a busy machine we run late ourselves, before we ask and after the answer has come; the service goes on
 * meanwhile. */
static uint64_t own_wait_ns(void)
{
	uint64_t run, wait;

	read_times(getpid(), &run, &wait);
	return wait;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* The service is at work on something else, or has nothing to do. */
static void let_it_work(void)
{
	uint64_t before = cpu_ns(), end = clock_mono_ns() + 20 * NS_PER_MS;

	while (cpu_ns() - before < NS_PER_MS && clock_mono_ns() < end)
		usleep(500);
}

/* The queue of those that connect may be full of others. */
static void connect_anew(struct peer *c)
{
	int fd;

	if (c->fd >= 0)
		peer_close(c);
	while (sock_connect(consumers, &fd) == -EAGAIN)
		usleep(100);
	peer_init(c, fd);
}

/* The service may still be at work on what the attack before has left, and then takes no more of this
 * user. */
static pid_t start(void (*attack)(void))
{
	pid_t pid = -1;

	for (int i = 0; i < TRIES && pid < 0; i++) {
		if (i > 0)
			usleep(500000);
		pid = attack_start(attack);
	}
	return pid;
}

static bool query_is_answered_while(void (*attack)(void))
{
	static struct peer c; /* large */
	static uint64_t cpu[ROUNDS], wall[ROUNDS];
	uint64_t begin = cpu_ns();
	pid_t pid;

	if (geteuid() != 0)
		SKIP("only root can be attacked by another user");
	pid = start(attack);
	CHECK(pid > 0);
	c.fd = -1;
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t cpu_before, wall_before, late;

		let_it_work();
		late = own_wait_ns();
		cpu_before = cpu_ns();
		wall_before = clock_mono_ns();
		if (i % 2 == 0)
			connect_anew(&c);
		if (!peer_accepted(&c, peer_call(&c, C_QUERY_CAPABILITIES, NULL, 0))) {
			attack_end(pid);
			CHECK(!"answered in time");
		}
		cpu[i] = cpu_ns() - cpu_before;
		late = own_wait_ns() - late;
		cpu[i] -= MIN(cpu[i], late);
		wall[i] = clock_mono_ns() - wall_before;
	}
	CHECK(waitpid(pid, NULL, WNOHANG) == 0); /* it goes on */
	peer_close(&c);
	attack_end(pid);
	qsort(cpu, ROUNDS, sizeof(cpu[0]), compare);
	qsort(wall, ROUNDS, sizeof(wall[0]), compare);
	printf("# CPU time before an answer: median %.1f ms, most %.1f ms; on the clock %.1f, "
	       "%.1f; "
	       "%.1f ms in all\n",
	       (double)cpu[ROUNDS / 2] / 1e6, (double)cpu[ROUNDS - 1] / 1e6,
	       (double)wall[ROUNDS / 2] / 1e6, (double)wall[ROUNDS - 1] / 1e6,
	       (double)(cpu_ns() - begin) / 1e6);
	CHECK(cpu[ROUNDS - 1] < (BUILT_WITH_SANITIZER ? 10 : 1) * ANSWER_MS * NS_PER_MS);
	return good_pair_records();
}

#define WHILE(attack)                                                                              \
	static bool during_##attack(void)                                                          \
	{                                                                                          \
		return query_is_answered_while(attack);                                            \
	}

#define ATTACKS(X)                                                                                 \
	X(flood_of_producers, "a flood of requests of producers")                                  \
	X(flood_of_queries, "a flood of queries with large answers")                               \
	X(flood_of_small_queries, "a flood of queries with small answers")                         \
	X(configs_for_many_producers, "configs of many data sources that many producers offer")    \
	X(configs_for_others, "configs of many data sources, none of which is for who offers it")  \
	X(large_configs_for_many, "large configs of data sources that many producers offer")       \
	X(expressions_for_names, "heavy expressions for the names of many producers")              \
	X(triggers_with_expressions, "triggers with heavy expressions")                            \
	X(triggers_that_snapshot, "triggers of snapshots")                                         \
	X(equal_triggers, "equal triggers with heavy expressions")                                 \
	X(clones, "clones of large buffers")                                                       \
	X(large_clones, "clones of a buffer of 256 MB that are kept")                              \
	X(flushes, "as many flushes as may run")                                                   \
	X(flushes_that_scrape, "flushes of producers that leave much to be scraped")               \
	X(detached_and_attached, "sessions with large configs that change hands")                  \
	X(observers, "observers of many data sources")                                             \
	X(changes, "changes of large configs")                                                     \
	X(statistics, "statistics of many writers")                                                \
	X(comings_and_goings, "producers that come and go")                                        \
	X(commits_without_end, "a commit of chunks that become complete meanwhile")                \
	X(patches, "patches of chunks that are not there")                                         \
	X(connections, "connections that end at once")

#define RUN(attack, text) WHILE(attack)
ATTACKS(RUN)

#define ROW(attack, text) {"a query is answered during " text, during_##attack},

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {ATTACKS(ROW)};

	if (argc < 2)
		return 2;
	service_pid = atoi(argv[1]);
	producers = sock_default_producer();
	consumers = sock_default_consumer();
	fs_raise_file_limit(MAX_ATTACKERS + 256);
	if (argc > 2) {
		for (size_t i = 0; i < ARRAY_SIZE(tests); i++)
			if (strstr(tests[i].name, argv[2]))
				return tap_run(&tests[i], 1);
		return 2;
	}
	return tap_run(tests, ARRAY_SIZE(tests));
}
