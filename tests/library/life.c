/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: life
 * short-threads|cancel|cancel-inside|fork|fork-inside|exit|kill|kill-at-start|signals|late-answers|reregister|nine
 *
 * What happens to a program that traces. Says "ready" before the session, "done" after its events,
 * and what it expects of the trace: "expect N" packets.
 */
#include "numbers.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>

static void expect(uint64_t n)
{
	printf("expect %llu dropped %llu\n", (unsigned long long)n,
	       (unsigned long long)sonda_data_source_dropped(&numbers));
	say("done");
}

static void begin(void)
{
	numbers_register(SONDA_FULL_STALL);
	numbers_init();
	say("ready");
	numbers_wait_for_start();
}

static void end(void)
{
	WAIT_FOR(!sonda_data_source_enabled(&numbers));
}

/* ---- threads that live a millisecond ---- */

#define SHORT 1000
#define AT_ONCE 20

static void *live_short(void *arg)
{
	for (unsigned i = 0; i < 3; i++)
		numbers_write((unsigned)(uintptr_t)arg, i, 10);
	usleep(1000);
	return NULL;
}

static void short_threads(void)
{
	pthread_t threads[AT_ONCE];

	begin();
	for (unsigned i = 0; i < SHORT; i += AT_ONCE) {
		for (unsigned k = 0; k < AT_ONCE; k++)
			if (pthread_create(&threads[k], NULL, live_short,
					   (void *)(uintptr_t)(i + k)) != 0)
				exit(1);
		for (unsigned k = 0; k < AT_ONCE; k++)
			pthread_join(threads[k], NULL);
	}
	expect(SHORT * 3);
	if (__atomic_load_n(&seen.states, __ATOMIC_RELAXED) != SHORT)
		exit(1);
	end();
}

/* ---- threads that are cancelled ---- */

#define CANCELLED 400
#define MOST 300 /* packets of a thread */

static uint64_t written[CANCELLED];

/* Only its own cancellation point ends it, after a packet was counted. */
static void *write_until_cancelled(void *arg)
{
	uintptr_t i = (uintptr_t)arg;

	for (;;) {
		uint64_t n = written[i];

		if (n < MOST)
			n += numbers_write((unsigned)i, n, 300);
		__atomic_store_n(&written[i], n, __ATOMIC_RELAXED);
		pthread_testcancel();
	}
	return NULL;
}

static void cancel_threads(void)
{
	pthread_t threads[AT_ONCE];
	uint64_t sum = 0;

	begin();
	for (uintptr_t i = 0; i < CANCELLED; i += AT_ONCE) {
		for (uintptr_t k = 0; k < AT_ONCE; k++)
			if (pthread_create(&threads[k], NULL, write_until_cancelled,
					   (void *)(i + k)) != 0)
				exit(1);
		for (uintptr_t k = 0; k < AT_ONCE; k++)
			WAIT_FOR(__atomic_load_n(&written[i + k], __ATOMIC_RELAXED) > k % 5);
		for (unsigned k = 0; k < AT_ONCE; k++)
			pthread_cancel(threads[k]);
		for (unsigned k = 0; k < AT_ONCE; k++)
			pthread_join(threads[k], NULL);
	}
	for (unsigned i = 0; i < CANCELLED; i++)
		sum += written[i];
	expect(sum);
	end();
}

static bool inside;

/* It is cancelled, or ends itself, within a packet. */
static void *stay_inside(void *arg)
{
	SONDA_TRACE(&numbers, w)
	{
		struct sonda_packet *p = sonda_packet_begin(w);

		sonda_packet_u64(p, 8, sonda_now());
		sonda_packet_open(p, 900);
		sonda_packet_u64(p, 2, (unsigned)(uintptr_t)arg);
		sonda_packet_u64(p, 3, 0);
		sonda_packet_open(p, 7);
		__atomic_store_n(&inside, true, __ATOMIC_RELAXED);
		if ((uintptr_t)arg % 2)
			pthread_exit(NULL);
		for (;;)
			pause();
	}
	return NULL;
}

static void cancel_inside(void)
{
	pthread_t thread;

	begin();
	for (uintptr_t i = 0; i < 4; i++) {
		inside = false;
		if (pthread_create(&thread, NULL, stay_inside, (void *)i) != 0)
			exit(1);
		WAIT_FOR(__atomic_load_n(&inside, __ATOMIC_RELAXED));
		if (i % 2 == 0)
			pthread_cancel(thread);
		pthread_join(thread, NULL);
	}
	for (unsigned i = 0; i < 100; i++)
		numbers_write(10, i, 10);
	expect(104);
	end();
}

/* ---- fork ---- */

#define ROOM 1000000 /* events of a thread, for which the buffer has room */

static bool stop_writing;

static void *write_until_stopped(void *arg)
{
	uint64_t n = 0;

	while (!__atomic_load_n(&stop_writing, __ATOMIC_RELAXED))
		if (n < ROOM)
			n += numbers_write((unsigned)(uintptr_t)arg, n, 20);
		else
			sched_yield();
	return (void *)(uintptr_t)n;
}

/* A child without sonda_init() traces nothing; one with it is a producer of its own. */
static void child(unsigned i)
{
	unsigned n = 0;

	for (unsigned k = 0; k < 1000; k++)
		n += numbers_write(1000, k, 10);
	if (n > 0)
		_exit(1);
	if (i % 5 == 0) {
		numbers_init();
		numbers_wait_for_start();
		for (unsigned k = 0; k < 100; k++)
			numbers_write(100 + i, k, 10);
		sonda_shutdown();
	}
	exit(0); /* with the library's own end */
}

#define CHILDREN 20

static void fork_in_the_middle(void)
{
	pthread_t threads[2];
	uint64_t n = 0;
	int status;
	void *ret;
	pid_t pid;

	begin();
	for (unsigned i = 0; i < 2; i++)
		if (pthread_create(&threads[i], NULL, write_until_stopped, (void *)(uintptr_t)i) !=
		    0)
			exit(1);
	for (unsigned i = 0; i < CHILDREN; i++) {
		n += numbers_write(2, i, 5000);
		pid = fork();
		if (pid == 0)
			child(i);
		if (waitpid(pid, &status, 0) != pid || status != 0) {
			fprintf(stderr, "child %u: status %x\n", i, (unsigned)status);
			exit(1);
		}
	}
	__atomic_store_n(&stop_writing, true, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < 2; i++) {
		pthread_join(threads[i], &ret);
		n += (uintptr_t)ret;
	}
	expect(n + CHILDREN / 5 * 100);
	end();
}

/* The child goes on with the packet that the parent had open; nothing of it may reach the trace. */
static void fork_inside(void)
{
	unsigned n = 0;
	int status = 1;
	pid_t pid = -1;

	begin();
	for (unsigned i = 0; i < 50; i++) {
		SONDA_TRACE(&numbers, w)
		{
			struct sonda_packet *p = sonda_packet_begin(w);

			sonda_packet_u64(p, 8, sonda_now());
			sonda_packet_open(p, 900);
			sonda_packet_u64(p, 2, 0);
			pid = fork();
			if (pid == 0)
				for (unsigned k = 0; k < 5000; k++)
					sonda_packet_str(p, 5, "of the child");
			sonda_packet_u64(p, 3, i);
			sonda_packet_close(p);
			sonda_packet_end(w);
			n++;
		}
		if (pid == 0)
			exit(0);
		if (waitpid(pid, &status, 0) != pid || status != 0) {
			fprintf(stderr, "child %u: status %x\n", i, (unsigned)status);
			exit(1);
		}
	}
	expect(n);
	end();
}

/* ---- the end of the process ---- */

static void write_and(bool be_killed)
{
	uint64_t n = 0;

	begin();
	for (unsigned i = 0; i < 10000; i++)
		n += numbers_write(0, i, 10);
	expect(n);
	if (be_killed)
		raise(SIGKILL);
	exit(0);
}

/* The service has asked for a start, and gets no answer. */
static void die(void *ctx, void *instance)
{
	(void)ctx, (void)instance;
	expect(0);
	raise(SIGKILL);
}

static void kill_at_start(void)
{
	static const struct sonda_data_source_callbacks callbacks = {.on_start = die};
	const struct sonda_data_source_options o = {
		.size = sizeof(o), .name = "sonda.test.numbers", .callbacks = &callbacks};

	if (sonda_data_source_register(&numbers, &o) != 0)
		exit(1);
	numbers_init();
	say("ready");
	pause();
}

/* ---- signals ---- */

static uint64_t in_handler;

static void on_alarm(int signal)
{
	(void)signal;
	in_handler += numbers_write(1, in_handler, 10);
}

static void signals(void)
{
	const struct itimerval often = {.it_interval = {.tv_usec = 100},
					.it_value = {.tv_usec = 100}};
	const struct itimerval never = {.it_interval = {.tv_usec = 0}};
	const struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
	uint64_t n = 0;

	begin();
	numbers_write(1, 0, 10); /* the writer exists */
	in_handler = 1;
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	while (__atomic_load_n(&in_handler, __ATOMIC_RELAXED) < 500)
		if (n < ROOM)
			n += numbers_write(0, n, 10);
	setitimer(ITIMER_REAL, &never, NULL);
	expect(n + in_handler);
	end();
}

/* ---- answers that are put off ---- */

static struct sonda_answer *stop_answer, *flush_answer;

static void put_off_stop(void *ctx, void *instance, struct sonda_answer *answer)
{
	(void)ctx, (void)instance;
	sonda_answer_later(answer);
	__atomic_store_n(&stop_answer, answer, __ATOMIC_RELEASE);
}

static void put_off_flush(void *ctx, void *instance, uint64_t flags, struct sonda_answer *answer)
{
	(void)ctx, (void)instance, (void)flags;
	sonda_answer_later(answer);
	__atomic_store_n(&flush_answer, answer, __ATOMIC_RELEASE);
}

static void late_answers(void)
{
	static const struct sonda_data_source_callbacks callbacks = {.on_stop = put_off_stop,
								     .on_flush = put_off_flush};
	const struct sonda_data_source_options o = {
		.size = sizeof(o), .name = "sonda.test.numbers", .callbacks = &callbacks};
	unsigned n = 0;

	if (sonda_data_source_register(&numbers, &o) != 0)
		exit(1);
	numbers_init();
	say("ready");
	numbers_wait_for_start();
	n += numbers_write(0, 0, 10);
	say("done"); /* the session ends now: a flush, then a stop */
	WAIT_FOR(__atomic_load_n(&flush_answer, __ATOMIC_ACQUIRE));
	n += numbers_write(0, 1, 10);
	usleep(100000); /* no other command may overtake */
	n += numbers_write(0, 2, 10);
	sonda_answer_send(flush_answer);
	WAIT_FOR(__atomic_load_n(&stop_answer, __ATOMIC_ACQUIRE));
	n += numbers_write(0, 3, 10);
	printf("expect %u dropped 0\n", n);
	sonda_answer_send(stop_answer);
	end();
}

/* ---- a source that comes and goes while a session runs ---- */

static void reregister(void)
{
	unsigned n = 0;

	begin();
	for (unsigned i = 0; i < 20; i++) {
		n += numbers_write(0, i, 10);
		sonda_data_source_unregister(&numbers);
		if (numbers_write(0, i, 10) != 0)
			exit(1);
		if (sonda_data_source_register(
			    &numbers, &(struct sonda_data_source_options){
					      .size = sizeof(struct sonda_data_source_options),
					      .name = "sonda.test.numbers"}) != 0)
			exit(1);
		numbers_wait_for_start();
	}
	expect(n);
	end();
}

/* ---- more instances than there can be ---- */

static void nine(void)
{
	unsigned n = 0;

	numbers_register(SONDA_FULL_STALL);
	numbers_init();
	say("ready");
	WAIT_FOR(sonda_data_source_enabled(&numbers) == 0xff);
	for (unsigned i = 0; i < 100; i++) {
		unsigned instance = 0;

		SONDA_TRACE(&numbers, w)
		{
			struct sonda_packet *p = sonda_packet_begin(w);

			sonda_packet_u64(p, 8, sonda_now());
			sonda_packet_open(p, 900);
			sonda_packet_u64(p, 2, instance++);
			sonda_packet_u64(p, 3, i);
			sonda_packet_end(w); /* which closes what is open */
			n++;
		}
	}
	expect(n);
	end();
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} all[] = {
		{"short-threads", short_threads},
		{"cancel", cancel_threads},
		{"cancel-inside", cancel_inside},
		{"fork", fork_in_the_middle},
		{"fork-inside", fork_inside},
		{"kill-at-start", kill_at_start},
		{"signals", signals},
		{"late-answers", late_answers},
		{"reregister", reregister},
		{"nine", nine},
	};

	for (unsigned i = 0; argc == 2 && i < sizeof(all) / sizeof(all[0]); i++)
		if (strcmp(argv[1], all[i].name) == 0) {
			all[i].run();
			return 0;
		}
	if (argc == 2 && strcmp(argv[1], "exit") == 0)
		write_and(false);
	if (argc == 2 && strcmp(argv[1], "kill") == 0)
		write_and(true);
	return 2;
}
