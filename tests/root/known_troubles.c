/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: known_troubles TROUBLE SECONDS
 *
 * Makes one kind of trouble that sonda report findings knows, and ends after so many seconds.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int64_t end_ns;

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static bool goes_on(void)
{
	return now_ns() < end_ns;
}

static void sleep_us(int64_t us)
{
	struct timespec t = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};

	nanosleep(&t, NULL);
}

/* Uses the CPU for so long, by the CPU time of the thread. */
static void compute_us(int64_t us)
{
	struct timespec t;
	int64_t end;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	end = t.tv_sec * INT64_C(1000000000) + t.tv_nsec + us * 1000;
	do {
		for (volatile int i = 0; i < 20000; i++)
			;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	} while (t.tv_sec * INT64_C(1000000000) + t.tv_nsec < end);
}

static void run_threads(unsigned n, void *(*fn)(void *))
{
	pthread_t threads[64];

	for (uintptr_t i = 0; i < n; i++)
		if (pthread_create(&threads[i], NULL, fn, (void *)i))
			exit(1);
	for (unsigned i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
}

/* ---- lock convoy ---- */

static pthread_mutex_t convoy_lock = PTHREAD_MUTEX_INITIALIZER;

static void *convoy_member(void *arg)
{
	(void)arg;
	while (goes_on()) {
		pthread_mutex_lock(&convoy_lock);
		compute_us(1500);
		pthread_mutex_unlock(&convoy_lock);
		sleep_us(200);
	}
	return NULL;
}

static void convoy(void)
{
	run_threads(6, convoy_member);
}

/* ---- priority inversion: all on one CPU ---- */

static pthread_mutex_t inverted_lock = PTHREAD_MUTEX_INITIALIZER;

static void set_priority(int fifo)
{
	struct sched_param p = {.sched_priority = fifo};

	if (pthread_setschedparam(pthread_self(), fifo ? SCHED_FIFO : SCHED_OTHER, &p))
		exit(1);
}

/* High: needs the lock now and then. Low: has it for long. Medium: uses the CPU. */
static void *inverted(void *role)
{
	switch ((uintptr_t)role) {
	case 0:
		set_priority(20);
		while (goes_on()) {
			sleep_us(20000);
			pthread_mutex_lock(&inverted_lock);
			compute_us(200);
			pthread_mutex_unlock(&inverted_lock);
		}
		break;
	case 1:
		set_priority(10);
		while (goes_on()) {
			sleep_us(5000);
			compute_us(15000);
		}
		break;
	default:
		while (goes_on()) {
			pthread_mutex_lock(&inverted_lock);
			compute_us(5000);
			pthread_mutex_unlock(&inverted_lock);
			sleep_us(1000);
		}
	}
	return NULL;
}

static void inversion(void)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(0, &one);
	sched_setaffinity(0, sizeof(one), &one);
	run_threads(3, inverted);
}

/* ---- sync, sleep, poll ---- */

static void fsync_storm(void)
{
	char name[] = "fsync_storm.XXXXXX", data[4096] = "";
	int fd = mkstemp(name);

	if (fd < 0)
		exit(1);
	unlink(name);
	while (goes_on())
		if (pwrite(fd, data, sizeof(data), 0) < 0 || fsync(fd) < 0)
			exit(1);
}

static void slack(void)
{
	prctl(PR_SET_TIMERSLACK, 5000000ul);
	while (goes_on())
		sleep_us(2000);
}

static void busy_poll(void)
{
	struct epoll_event event;
	int fd = epoll_create1(0);

	while (goes_on())
		epoll_wait(fd, &event, 1, 0);
}

static void yield(void)
{
	while (goes_on())
		sched_yield();
}

/* ---- thundering herd ---- */

static pthread_mutex_t herd_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t herd_cond = PTHREAD_COND_INITIALIZER;
static int jobs;

static void *herd_member(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&herd_lock);
	while (goes_on()) {
		while (!jobs && goes_on())
			pthread_cond_wait(&herd_cond, &herd_lock);
		if (jobs)
			jobs--;
		pthread_mutex_unlock(&herd_lock);
		compute_us(300);
		pthread_mutex_lock(&herd_lock);
	}
	pthread_mutex_unlock(&herd_lock);
	return NULL;
}

static void *herd_waker(void *arg)
{
	(void)arg;
	while (goes_on()) {
		sleep_us(5000);
		pthread_mutex_lock(&herd_lock);
		jobs++;
		pthread_mutex_unlock(&herd_lock);
		pthread_cond_broadcast(&herd_cond);
	}
	sleep_us(5000);
	pthread_cond_broadcast(&herd_cond);
	return NULL;
}

static void *herd_part(void *n)
{
	return n ? herd_member(n) : herd_waker(n);
}

static void herd(void)
{
	run_threads(13, herd_part);
}

/* ---- processes, memory, migrations ---- */

static void forks(void)
{
	while (goes_on()) {
		pid_t pid = fork();

		if (pid == 0)
			_exit(0);
		if (pid > 0)
			waitpid(pid, NULL, 0);
	}
}

/* Children that stay: at most 1500. */
static void growth(void)
{
	pid_t pids[1500];
	size_t n = 0;

	for (; goes_on(); sleep_us(2000)) {
		if (n == sizeof(pids) / sizeof(pids[0]))
			continue;
		pids[n] = fork();
		if (pids[n] == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (;;)
				pause();
		}
		n += pids[n] > 0;
	}
	while (n--) {
		kill(pids[n], SIGKILL);
		waitpid(pids[n], NULL, 0);
	}
}

static void page_faults(void)
{
	size_t size = 4 << 20;

	while (goes_on()) {
		char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			       0);

		if (p == MAP_FAILED)
			exit(1);
		madvise(p, size, MADV_NOHUGEPAGE);
		for (size_t i = 0; i < size; i += 4096)
			p[i] = 1;
		munmap(p, size);
	}
}

static void migrate(void)
{
	for (unsigned i = 0; goes_on(); i++) {
		cpu_set_t one;

		CPU_ZERO(&one);
		CPU_SET(i % 2, &one);
		sched_setaffinity(0, sizeof(one), &one);
		compute_us(300);
	}
}

/* Walks over 400 MiB again and again, more than its control group may have. */
static void memory(void)
{
	size_t size = 400 << 20;
	volatile char *p =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (size_t i = 0; goes_on(); i = (i + 4096) % size)
		p[i]++;
}

/* No trouble: 60 times a second 5 ms of work. */
static void video(void)
{
	int64_t next = now_ns();

	while (goes_on()) {
		struct timespec t;

		compute_us(5000);
		next += 16666667;
		t = (struct timespec){.tv_sec = next / 1000000000, .tv_nsec = next % 1000000000};
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
	}
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*fn)(void);
	} troubles[] = {{"convoy", convoy},	 {"inversion", inversion}, {"fsync", fsync_storm},
			{"slack", slack},	 {"poll", busy_poll},	   {"yield", yield},
			{"herd", herd},		 {"forks", forks},	   {"growth", growth},
			{"faults", page_faults}, {"migrate", migrate},	   {"memory", memory},
			{"video", video}};

	if (argc != 3)
		return 2;
	end_ns = now_ns() + atoi(argv[2]) * INT64_C(1000000000);
	for (size_t i = 0; i < sizeof(troubles) / sizeof(troubles[0]); i++)
		if (!strcmp(troubles[i].name, argv[1])) {
			troubles[i].fn();
			return 0;
		}
	return 2;
}
