/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/symbolize/dwarf_library.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/core/mem.h"

#define LIBRARY "libdw.so.1"

static const struct {
	const char *name;
	size_t offset; /* of the pointer */
} functions[] = {
#define DWARF_ROW(name) {#name, offsetof(struct dwarf_library, name)},
	DWARF_FUNCTIONS(DWARF_ROW)
#undef DWARF_ROW
};

int dwarf_library_open(struct dwarf_library *ret, struct err_text *e)
{
	struct dwarf_library l = {.handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL)};

	if (!l.handle)
		return err_set(e, -ENOENT, "cannot load %s: %s; install libdw1 (elfutils)", LIBRARY,
			       dlerror() ?: "this program loads no libraries");
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++) {
		void *symbol = dlsym(l.handle, functions[i].name);

		if (!symbol) {
			dwarf_library_close(&l);
			return err_set(e, -ENOENT, "%s has no %s; install a newer elfutils",
				       LIBRARY, functions[i].name);
		}
		/* POSIX: a pointer to data can hold a pointer to a function. */
		memcpy((char *)&l + functions[i].offset, &symbol, sizeof(symbol));
	}
	*ret = l;
	return 0;
}

void dwarf_library_close(struct dwarf_library *l)
{
	if (l->handle)
		dlclose(l->handle);
	*l = (struct dwarf_library){0};
}
