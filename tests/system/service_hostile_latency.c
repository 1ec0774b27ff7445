/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: service_hostile_latency PID [ATTACK]
 *
 * How long another consumer waits for an answer of the service, the process PID, while a process of
 * another user does its worst (service_attacker.h). What is judged is each answer's time without
 * waiting for a CPU (service_latency.h): the time on the clock, which is printed too, is also that
 * of a busy machine.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/system/fs.h"
#include "base/system/sanitizer.h"
#include "service_attacks_data.h"
#include "service_latency.h"

enum { ROUNDS = 60, ANSWER_MS = 100 };

static int service_pid;

/* ---- the other consumer ---- */

static bool query_is_answered_while(void (*attack)(void))
{
	static struct latency l = {.peer.fd = -1};
	static uint64_t cpu[ROUNDS], served[ROUNDS], wall[ROUNDS];
	uint64_t begin;
	pid_t pid;

	if (geteuid() != 0)
		SKIP("only root can be attacked by another user");
	l.pid = service_pid;
	begin = latency_cpu_ns(&l);
	pid = attack_start(attack);
	CHECK(pid > 0);
	for (int i = 0; i < ROUNDS; i++) {
		struct latency_sample one;

		latency_let_it_work(&l);
		if (!latency_ask(&l, consumers, i % 2 == 0, &one)) {
			attack_end(pid);
			CHECK(!"answered in time");
		}
		cpu[i] = one.cpu;
		served[i] = one.served;
		wall[i] = one.clock;
	}
	CHECK(waitpid(pid, NULL, WNOHANG) == 0); /* it goes on */
	peer_close(&l.peer);
	CHECK(attack_end(pid));
	qsort(cpu, ROUNDS, sizeof(cpu[0]), latency_compare);
	qsort(served, ROUNDS, sizeof(served[0]), latency_compare);
	qsort(wall, ROUNDS, sizeof(wall[0]), latency_compare);
	printf("# CPU time before an answer: median %.1f ms, most %.1f ms; without waiting for a "
	       "CPU "
	       "%.1f, %.1f; on the clock %.1f, %.1f; %.1f ms in all\n",
	       (double)cpu[ROUNDS / 2] / 1e6, (double)cpu[ROUNDS - 1] / 1e6,
	       (double)served[ROUNDS / 2] / 1e6, (double)served[ROUNDS - 1] / 1e6,
	       (double)wall[ROUNDS / 2] / 1e6, (double)wall[ROUNDS - 1] / 1e6,
	       (double)(latency_cpu_ns(&l) - begin) / 1e6);
	CHECK(served[ROUNDS - 1] < (BUILT_WITH_SANITIZER ? 10 : 1) * ANSWER_MS * NS_PER_MS);
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
	X(packets_of_small_fields, "packets of 64 MB of small fields")                             \
	X(packets_of_large_fields, "packets of 64 MB of larger fields")                            \
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
	latency_take_priority();
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
