/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/machine/journald_library.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "base/core/mem.h"

#define FUNCTION(name)                                                                             \
	{                                                                                          \
		"sd_journal_" #name, offsetof(struct journald_library, name)                       \
	}

static const struct {
	const char *name;
	size_t offset; /* of the pointer */
} functions[] = {
	FUNCTION(open),
	FUNCTION(close),
	FUNCTION(add_match),
	FUNCTION(get_fd),
	FUNCTION(process),
	FUNCTION(has_runtime_files),
	FUNCTION(has_persistent_files),
	FUNCTION(seek_head),
	FUNCTION(seek_tail),
	FUNCTION(previous),
	FUNCTION(next),
	FUNCTION(get_monotonic_usec),
	FUNCTION(restart_data),
	FUNCTION(enumerate_data),
};

static void say(struct strbuf *why, const char *text)
{
	strbuf_clear(why);
	strbuf_puts(why, text ? text : "cannot be opened");
}

int journald_library_open(struct journald_library *l, const char *file, struct strbuf *why)
{
	struct journald_library found = {.handle = dlopen(file, RTLD_NOW | RTLD_LOCAL)};

	if (!found.handle) {
		say(why, dlerror());
		return -ENOENT;
	}
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
		void *symbol = dlsym(found.handle, functions[i].name);

		if (!symbol) {
			say(why, functions[i].name);
			dlclose(found.handle);
			return -ENOSYS;
		}
		/* POSIX: a pointer to a function fits one to data. */
		memcpy((char *)&found + functions[i].offset, &symbol, sizeof(symbol));
	}
	*l = found;
	return 0;
}

void journald_library_close(struct journald_library *l)
{
	if (l->handle)
		dlclose(l->handle);
	*l = (struct journald_library){0};
}
