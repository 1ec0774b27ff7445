/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/symbolize/dwarf_library.h"

#include <errno.h>

#include "base/core/mem.h"
#include "base/system/shared_library.h"

#define LIBRARY "libdw.so.1"

static const struct shared_function functions[] = {
#define DWARF_ROW(name) SHARED_FUNCTION(struct dwarf_library, name, #name),
	DWARF_FUNCTIONS(DWARF_ROW)
#undef DWARF_ROW
};

int dwarf_library_open(struct dwarf_library *ret, struct err_text *e)
{
	const char *why;
	int r = shared_library_open(LIBRARY, functions, ARRAY_SIZE(functions), ret, &ret->handle,
				    &why);

	if (r == -ENOSYS)
		return err_set(e, -ENOENT, "%s lacks %s; install a newer elfutils", LIBRARY, why);
	if (r < 0)
		return err_set(e, -ENOENT, "cannot load %s: %s%s", LIBRARY, why,
			       r == -ELIBACC ? "" : "; install libdw1 (elfutils)");
	return 0;
}

void dwarf_library_close(struct dwarf_library *l)
{
	shared_library_close(&l->handle);
	*l = (struct dwarf_library){0};
}
