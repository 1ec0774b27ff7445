/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: asker PID SECONDS
 *
 * A consumer of the service, the process PID, that sends queries for that long, each second one
 * over a new connection, while other peers attack the service. It fails if one answer takes 100 ms,
 * without what both processes waited for a CPU (service_latency.h).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/event_loop/sock.h"
#include "system/service_latency.h"

enum { ANSWER_MS = 100, PAUSE_US = 20000, PER_SECOND = 1000000 / PAUSE_US };

struct figures {
	uint64_t *cpu, *served, *clock; /* owned */
	size_t n;
};

static uint64_t *array(size_t n)
{
	uint64_t *p = calloc(n, sizeof(*p));

	if (!p)
		abort();
	return p;
}

/* Returns the longest. Sorts. */
static uint64_t print(const char *what, uint64_t *ns, size_t n)
{
	qsort(ns, n, sizeof(*ns), latency_compare);
	printf("%s: median %.2f ms, 99 %% %.2f ms, most %.2f ms\n", what, (double)ns[n / 2] / 1e6,
	       (double)ns[n - 1 - n / 100] / 1e6, (double)ns[n - 1] / 1e6);
	return ns[n - 1];
}

int main(int argc, char **argv)
{
	static struct latency l = {.peer.fd = -1};
	struct figures f = {0};
	uint64_t end, served;
	size_t most;

	if (argc != 3)
		return 2;
	l.pid = atoi(argv[1]);
	end = clock_mono_ns() + strtoull(argv[2], NULL, 10) * NS_PER_S;
	most = strtoull(argv[2], NULL, 10) * PER_SECOND + 1;
	latency_take_priority();
	f = (struct figures){array(most), array(most), array(most), 0};
	do {
		struct latency_sample one;

		usleep(PAUSE_US);
		if (!latency_ask(&l, sock_default_consumer(), f.n % 2 == 0, &one)) {
			printf("query %zu was not answered\n", f.n);
			return 1;
		}
		f.cpu[f.n] = one.cpu;
		f.served[f.n] = one.served;
		f.clock[f.n] = one.clock;
		f.n++;
	} while (f.n < most && clock_mono_ns() < end);
	printf("%zu queries of another consumer\n", f.n);
	print("CPU time before an answer", f.cpu, f.n);
	served = print("without waiting for a CPU", f.served, f.n);
	print("on the clock", f.clock, f.n);
	return served < ANSWER_MS * NS_PER_MS ? 0 : 1;
}
