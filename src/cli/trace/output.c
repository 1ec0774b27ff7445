/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trace/output.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "cli/trace/trace_file.h"

int output_name(const char *kind, struct output_name *ret, struct err_text *e)
{
	char host[256] = "host", when[32];
	time_t now = time(NULL);
	unsigned random;
	struct tm tm;

	gethostname(host, sizeof(host) - 1);
	for (char *p = host; *p; p++)
		if (*p == '/')
			*p = '_';
	if (!localtime_r(&now, &tm))
		return err_set(e, -errno, "no name for the output; give one with -o");
	/* Nobody else can guess the name, and so put something there first. */
	if (getrandom(&random, sizeof(random), 0) < 0)
		return err_set(e, -errno, "no name for the output; give one with -o");
	strftime(when, sizeof(when), "%Y%m%dT%H%M%S", &tm);
	snprintf(ret->text, sizeof(ret->text), "%.16s-%s-%s-%06x.pftrace", kind, host, when,
		 random & 0xffffff);
	return 0;
}

int output_open(const char *path, const char *kind, struct output_name *ret_name,
		struct trace_file **ret, struct err_text *e)
{
	if (path && !strcmp(path, "-") && isatty(STDOUT_FILENO))
		return err_set(e, -ENOTTY, "a trace is no text: not written to a terminal");
	int r = path ? 0 : output_name(kind, ret_name, e);

	if (r < 0)
		return r;
	if (path)
		snprintf(ret_name->text, sizeof(ret_name->text), "%s",
			 strcmp(path, "-") ? path : "standard output");
	return trace_file_open(path ? path : ret_name->text, e, ret);
}
