/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: named_program N
 *
 * Calls functions N times each, and passes a static probe N times; call i has i as a number. Prints how
 * often the probe's semaphore was not 0, which means that a tracer had enabled the probe.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "usdt_note.h"

/* As a C++ compiler names ns::Loader::load(char const*, int). */
__attribute__((noinline)) int load(const char *name, int n) __asm__("_ZN2ns6Loader4loadEPKci");
__attribute__((noinline)) long plain(int fd, const char *path, unsigned long size);

int load(const char *name, int n)
{
	__asm__ volatile("" : : "r"(name) : "memory");
	usleep(100);
	return 2 * n;
}

long plain(int fd, const char *path, unsigned long size)
{
	__asm__ volatile("" : : "r"(path), "r"(size) : "memory");
	return 3 * (long)fd;
}

static void pass_probe(long number, const char *text)
{
#if defined(__x86_64__)
	__asm__ volatile(USDT_NOTE("passed", "8@%0 -4@$7 8@%1")
			 :
			 : "r"(number), "r"(text)
			 : "memory");
#else
	__asm__ volatile(USDT_NOTE("passed", "8@%0 -4@7 8@%1")
			 :
			 : "r"(number), "r"(text)
			 : "memory");
#endif
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1, watched = 0;
	char text[32];

	for (int i = 0; i < n; i++) {
		snprintf(text, sizeof(text), "text %d", i);
		if (load(text, i) != 2 * i ||
		    plain(i, text, 1000 * (unsigned long)i) != 3 * (long)i)
			return 1;
		watched += *(volatile unsigned short *)&usdt_semaphore != 0;
		pass_probe(i, text);
	}
	printf("%d\n", watched);
	return 0;
}
