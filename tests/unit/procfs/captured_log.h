/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Captures standard error, and with it the log, between two calls. Not nested. */

static int log_before_capture = -1;
static char log_text[4096]; /* of the last capture */

static inline void capture_log(void)
{
	int fd = memfd_create("log", 0);

	fflush(stderr);
	log_before_capture = dup(STDERR_FILENO);
	if (fd < 0 || log_before_capture < 0 || dup2(fd, STDERR_FILENO) < 0)
		abort();
	close(fd);
}

/* Ends the capture. Returns how often the text is in the log. */
static inline unsigned captured(const char *text)
{
	unsigned times = 0;
	ssize_t n;

	fflush(stderr);
	n = pread(STDERR_FILENO, log_text, sizeof(log_text) - 1, 0);
	log_text[n > 0 ? n : 0] = '\0';
	dup2(log_before_capture, STDERR_FILENO);
	close(log_before_capture);
	for (const char *p = log_text; (p = strstr(p, text)); p++)
		times++;
	return times;
}
