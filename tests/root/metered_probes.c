/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/syscall.h>

/*
 * usage: metered_probes [OPTION]...        METER_FILE=FILE
 *
 * sonda-probes itself, whose loop is looked at from below: the time on the CPU between two waits is
 * how long a ring that asks for the loop in between would not get it. (The CPU's time, as that of
 * the clock would be that of other programs too.) At each SIGUSR1 a line comes to FILE, about what
 * was since the line before:
 *
 *	longest_us N over_5ms N rounds N
 *
 * over_5ms counts rounds of the loop that took longer than that.
 */
#include "probes/main.c"

int epoll_wait(int fd, struct epoll_event *events, int max, int timeout);

static struct {
	uint64_t since; /* CPU time at the end of the last wait, ns; 0: there was none */
	uint64_t longest;
	unsigned over, rounds;
} meter;
static volatile sig_atomic_t asked;
static int meter_fd;

/* While any file may still be opened. */
__attribute__((constructor)) static void open_meter(void)
{
	meter_fd = open(getenv("METER_FILE"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static void on_ask(int number)
{
	(void)number;
	asked = 1;
}

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void tell(void)
{
	asked = 0;
	dprintf(meter_fd, "longest_us %llu over_5ms %u rounds %u\n",
		(unsigned long long)(meter.longest / 1000), meter.over, meter.rounds);
	meter.longest = meter.over = meter.rounds = 0;
}

/* Instead of the C library's: libevent calls this one. */
int epoll_wait(int fd, struct epoll_event *events, int max, int timeout)
{
	uint64_t took = meter.since ? cpu_ns() - meter.since : 0;
	int n;

	signal(SIGUSR1, on_ask);
	meter.rounds++;
	meter.over += took > 5000000;
	meter.longest = MAX(meter.longest, took);
	if (asked)
		tell();
	n = (int)syscall(SYS_epoll_pwait, fd, events, max, timeout, NULL, 8);
	meter.since = cpu_ns();
	return n;
}
