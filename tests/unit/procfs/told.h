/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* What a person is told: standard error, from told_begin to told_end. Not nested. */

static int told_before = -1;
static char told_text[4096];

static inline void told_begin(void)
{
	int fd = memfd_create("told", 0);

	fflush(stderr);
	told_before = dup(STDERR_FILENO);
	if (fd < 0 || told_before < 0 || dup2(fd, STDERR_FILENO) < 0)
		abort();
	close(fd);
}

/* How many times this was told. */
static inline unsigned told_end(const char *what)
{
	unsigned times = 0;
	ssize_t n;

	fflush(stderr);
	n = pread(STDERR_FILENO, told_text, sizeof(told_text) - 1, 0);
	told_text[n > 0 ? n : 0] = '\0';
	dup2(told_before, STDERR_FILENO);
	close(told_before);
	for (const char *p = told_text; (p = strstr(p, what)); p++)
		times++;
	return times;
}
