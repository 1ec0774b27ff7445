/* SPDX-License-Identifier: Apache-2.0 */
/* libdebuginfod loads libcurl, so only this option loads it. Source of the calls:
 * debuginfod_find_debuginfo(3). */
#include "cli/symbolize/debuginfod.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/mem.h"

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

static bool find_function(void *library, const char *name, void *ret)
{
	void *symbol = dlsym(library, name);

	/* POSIX: a pointer to data can hold a pointer to a function. */
	memcpy(ret, &symbol, sizeof(symbol));
	return symbol;
}

int debuginfod_open(const char *urls, struct debuginfod **ret, struct err_text *e)
{
	struct debuginfod *d = calloc(1, sizeof(*d));

	if (!d)
		return err_set(e, -ENOMEM, "no memory");
	d->library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	d->urls = strdup(urls);
	if (!d->library || !d->urls || !find_function(d->library, "debuginfod_begin", &d->begin) ||
	    !find_function(d->library, "debuginfod_find_debuginfo", &d->find_debuginfo) ||
	    !find_function(d->library, "debuginfod_end", &d->end)) {
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
	if (d->library)
		dlclose(d->library);
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
	/* libdw, which other processes of this verb use, would ask as well. */
	unsetenv(URLS);
	return fd >= 0 ? path : NULL;
}
