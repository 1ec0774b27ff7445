/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: hostile_names
 *
 * A process of 8 threads with names that look like parts of the files in /proc. Prints its pid when
 * all are named, then waits to be killed.
 */
#include <pthread.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/core/mem.h"

static const char *const names[] = {
	"a) R 1 (", /* the end of the name in stat */
	"Tgid:\t1", /* another line of status */
	"\nTgid:\t1\nPid:", /* with a real newline before it */
	"\\n\\\\", /* what looks like the kernel's escape */
	" two words ",	    "\x01\xff", "",
};

static pthread_barrier_t named;

static void *wait_named(void *arg)
{
	prctl(PR_SET_NAME, (const char *)arg);
	pthread_barrier_wait(&named);
	pause();
	return NULL;
}

int main(void)
{
	pthread_barrier_init(&named, NULL, ARRAY_SIZE(names) + 1);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		pthread_t t;

		if (pthread_create(&t, NULL, wait_named, (void *)names[i]) != 0)
			return 1;
	}
	prctl(PR_SET_NAME, "(Pid:\t1)");
	pthread_barrier_wait(&named);
	printf("%d\n", getpid());
	fclose(stdout);
	pause();
	return 0;
}
