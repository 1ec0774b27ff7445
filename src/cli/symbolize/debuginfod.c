/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libdebuginfod loads libcurl, so only this option loads it. Source of the calls:
 * debuginfod_find_debuginfo(3).
 */
#include "cli/symbolize/debuginfod.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/system/shared_library.h"

#define LIBRARY "libdebuginfod.so.1"
#define URLS "DEBUGINFOD_URLS"

struct debuginfod {
	void *library; /* owned */
	void *client; /* owned */
	char *urls; /* owned */
	void *(*begin)(void);
	int (*find_debuginfo)(void *client, const unsigned char *build_id, int len, char **path);
	void (*end)(void *client);
};

static const struct shared_function functions[] = {
	SHARED_FUNCTION(struct debuginfod, begin, "debuginfod_begin"),
	SHARED_FUNCTION(struct debuginfod, find_debuginfo, "debuginfod_find_debuginfo"),
	SHARED_FUNCTION(struct debuginfod, end, "debuginfod_end"),
};

int debuginfod_open(const char *urls, struct debuginfod **ret, struct err_text *e)
{
	struct debuginfod *d = calloc(1, sizeof(*d));
	const char *why;

	if (!d)
		return err_set(e, -ENOMEM, "out of memory");
	d->urls = strdup(urls);
	if (!d->urls || shared_library_open(LIBRARY, functions, ARRAY_SIZE(functions), d,
					    &d->library, &why) < 0) {
		debuginfod_close(d);
		return err_set(e, -ENOENT, "cannot load %s; install libdebuginfod1", LIBRARY);
	}
	d->client = d->begin();
	*ret = d;
	return 0;
}

void debuginfod_close(struct debuginfod *d)
{
	if (!d)
		return;
	if (d->client)
		d->end(d->client);
	shared_library_close(&d->library);
	free(d->urls);
	free(d);
}

char *debuginfod_find(struct debuginfod *d, const struct symbol_module *m)
{
	_cleanup_(closep) int fd = -1;
	char *path = NULL;

	if (!d->client || setenv(URLS, d->urls, 1) < 0)
		return NULL;
	fd = d->find_debuginfo(d->client, m->build_id, (int)m->n_build_id, &path);
	/* libdw, which other processes of this verb use, would ask the servers as well. */
	unsetenv(URLS);
	return fd >= 0 ? path : NULL;
}
