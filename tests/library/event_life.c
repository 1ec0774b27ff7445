/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: event_life flood | fork | ring | steady
 *
 * flood: says "enabled" and waits for a line; writes far more events than the shared memory holds,
 * says "flooded" and waits for a line; then writes ten events "after". fork: a child writes events
 * before and after it starts the library, while its parent goes on. ring: writes far more than a
 * buffer of 1 MiB, with clears of the incremental state between. steady: writes until there is a
 * line to read; says "recorded" after a thousand events of each session.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sonda/sonda.h>

SONDA_CATEGORY_DEFINE(life, "life");

#define FLOOD 100000
#define SHM_SIZE (128u << 10)

static void wait_for_session(void)
{
	while (!sonda_category_enabled(&life))
		usleep(1000);
}

static void say_and_wait(const char *what)
{
	puts(what);
	fflush(stdout);
	getchar();
}

static void write_flood(void)
{
	say_and_wait("enabled");
	for (int i = 0; i < FLOOD; i++)
		SONDA_INSTANT(life, "flood", SONDA_INT("n", i));
	say_and_wait("flooded");
	for (int i = 0; i < 10; i++) {
		usleep(20000);
		SONDA_INSTANT(life, "after", SONDA_INT("n", i));
	}
}

static int child(const struct sonda_init_options *o)
{
	SONDA_INSTANT(life, "lost");
	if (sonda_category_enabled(&life) || sonda_init(o) < 0 || sonda_wait_connected(20000) < 0)
		return 1;
	wait_for_session();
	SONDA_INSTANT(life, "of the child", SONDA_INT("pid", getpid()));
	sonda_shutdown();
	return 0;
}

static int write_around_fork(const struct sonda_init_options *o)
{
	int status = 1;
	pid_t pid;

	SONDA_BEGIN(life, "around");
	SONDA_INSTANT(life, "before", SONDA_INT("pid", getpid()));
	pid = fork();
	if (pid == 0)
		_exit(child(o));
	for (int i = 0; i < 100; i++)
		SONDA_INSTANT(life, "meanwhile", SONDA_INT("pid", getpid()));
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return 1;
	SONDA_END(life);
	return status != 0;
}

#define RING 20000
#define RING_ROUND 500 /* 100 KB */

static struct sonda_data_source source = SONDA_DATA_SOURCE_INIT;
static unsigned clears;

static void on_clear(void *ctx, void *instance)
{
	(void)ctx, (void)instance;
	__atomic_fetch_add(&clears, 1, __ATOMIC_RELAXED);
}

/* After each round the session's incremental state is cleared at least once. */
static void write_ring(void)
{
	static const struct sonda_data_source_callbacks callbacks = {.on_clear = on_clear};
	const struct sonda_data_source_options o = {.size = sizeof(o),
						    .name = "sonda.test.ring",
						    .callbacks = &callbacks,
						    .handles_incremental_state_clear = true};
	char text[200];

	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	sonda_data_source_register(&source, &o);
	for (int i = 0; i < RING; i++) {
		unsigned before = __atomic_load_n(&clears, __ATOMIC_RELAXED);

		SONDA_INSTANT(life, "ring", SONDA_INT("n", i), SONDA_STRING("text", text));
		while (i % RING_ROUND == RING_ROUND - 1 && sonda_category_enabled(&life) &&
		       __atomic_load_n(&clears, __ATOMIC_RELAXED) == before)
			usleep(1000);
	}
}

static void *write_steadily(void *stop)
{
	unsigned n = 0;

	while (!__atomic_load_n((bool *)stop, __ATOMIC_RELAXED)) {
		if (!sonda_category_enabled(&life))
			n = 0;
		else if (++n == 1000)
			puts("recorded");
		SONDA_INSTANT(life, "steady", SONDA_INT("n", n));
		if (n % 10 == 0)
			usleep(1000);
	}
	return NULL;
}

static void write_until_a_line_comes(void)
{
	bool stop = false;
	pthread_t thread;

	setlinebuf(stdout);
	if (pthread_create(&thread, NULL, write_steadily, &stop) != 0)
		return;
	getchar();
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	struct sonda_init_options o = {.size = sizeof(o), .shm_size = SHM_SIZE};
	int r = 0;

	if (argc != 2 || sonda_init(&o) < 0 || sonda_wait_connected(20000) < 0)
		return 2;
	wait_for_session();
	if (strcmp(argv[1], "flood") == 0)
		write_flood();
	else if (strcmp(argv[1], "ring") == 0)
		write_ring();
	else if (strcmp(argv[1], "steady") == 0)
		write_until_a_line_comes();
	else
		r = write_around_fork(&o);
	sonda_shutdown();
	return r;
}
