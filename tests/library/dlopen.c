/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: dlopen LIBRARY TIMES            loads and unloads a library
 *        dlopen PLUGIN TIMES run         and calls its plugin_run() each time
 *
 * Fails if loading starts a thread or opens a file, or if anything is left after a time. The kernel
 * lists a thread that was joined for a moment more.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static unsigned entries(const char *dir)
{
	DIR *d = opendir(dir);
	unsigned n = 0;

	while (d && readdir(d))
		n++;
	closedir(d);
	return n;
}

static unsigned fds, threads;

static void check(const char *when, unsigned i)
{
	unsigned now_fds, now_threads;

	for (unsigned tries = 0; tries < 1000; tries++) {
		now_fds = entries("/proc/self/fd");
		now_threads = entries("/proc/self/task");
		if (now_fds == fds && now_threads == threads)
			return;
		usleep(1000);
	}
	fprintf(stderr, "%s, time %u: %u descriptors and %u threads, at first %u and %u\n", when, i,
		now_fds, now_threads, fds, threads);
	exit(1);
}

int main(int argc, char **argv)
{
	unsigned times = argc > 2 ? (unsigned)atoi(argv[2]) : 0;

	printf("ready\n");
	fflush(stdout);
	fds = entries("/proc/self/fd");
	threads = entries("/proc/self/task");
	for (unsigned i = 0; i < times; i++) {
		void *lib = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
		int (*run)(unsigned) = lib ? (int (*)(unsigned))dlsym(lib, "plugin_run") : NULL;

		if (!lib || (argc > 3 && !run)) {
			fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
		check("loaded", i);
		if (argc > 3 && run(i) != 0)
			return 1;
		dlclose(lib);
		check("unloaded", i);
	}
	printf("expect %u dropped 0\ndone\n", times);
	fflush(stdout);
	return times == 0;
}
