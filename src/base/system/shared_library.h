/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

/*
 * Libraries that are loaded at run time, because few machines or few runs of a program need
 * them.
 */

struct shared_function {
	const char *name; /* in the library */
	size_t offset; /* of the pointer to the function, in the struct of the caller */
};

#define SHARED_FUNCTION(type, member, name)                                                        \
	{                                                                                          \
		name, offsetof(type, member)                                                       \
	}

/* Loads a library, and sets the pointers of `to`. Returns 0; -ENOENT if it cannot be loaded;
 * -ELIBACC if this program is static; -ENOSYS if it lacks a function: then nothing is loaded.
 * *ret_why: the message of the loader, or the name of the function. The caller closes
 * *ret_handle. */
int shared_library_open(const char *file, const struct shared_function *functions, size_t n,
			void *to, void **ret_handle, const char **ret_why);
/* Sets *handle to NULL. No-op if it is NULL already. */
void shared_library_close(void **handle);
