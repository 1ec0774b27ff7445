/* SPDX-License-Identifier: Apache-2.0 */
#include "base/system/shared_library.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

int shared_library_open(const char *file, const struct shared_function *functions, size_t n,
			void *to, void **ret_handle, const char **ret_why)
{
	void *handle;

	errno = 0;
	handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
	if (!handle) {
		bool is_static = errno == ELIBACC;

		*ret_why = dlerror() ?: "a static build cannot load shared libraries";
		return is_static ? -ELIBACC : -ENOENT;
	}
	for (size_t i = 0; i < n; i++) {
		void *symbol = dlsym(handle, functions[i].name);

		if (!symbol) {
			*ret_why = functions[i].name;
			dlclose(handle);
			return -ENOSYS;
		}
		/* POSIX guarantees that a data pointer can hold a function pointer. */
		memcpy((char *)to + functions[i].offset, &symbol, sizeof(symbol));
	}
	*ret_handle = handle;
	return 0;
}

void shared_library_close(void **handle)
{
	if (*handle)
		dlclose(*handle);
	*handle = NULL;
}
