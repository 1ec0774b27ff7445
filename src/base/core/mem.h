/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

/*
 * Ownership in one idiom: `_cleanup_(freep) char *s = ...;` frees at the end of the scope, and
 * `return TAKE_PTR(s);` passes ownership to the caller.
 */

#define _cleanup_(fn) __attribute__((cleanup(fn)))

#define TAKE_PTR(p)                                                                                \
	({                                                                                         \
		__typeof__(p) *p_ = &(p);                                                          \
		__typeof__(p) v_ = *p_;                                                            \
		*p_ = NULL;                                                                        \
		v_;                                                                                \
	})

#define TAKE_FD(fd)                                                                                \
	({                                                                                         \
		int *f_ = &(fd);                                                                   \
		int v_ = *f_;                                                                      \
		*f_ = -1;                                                                          \
		v_;                                                                                \
	})

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define container_of(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

/* Disables the stack protector of a function. It is for functions that run once per event and pass
 * on addresses of locals, but have no array: the check would cost time and protect nothing. */
#ifdef __has_attribute
#if __has_attribute(no_stack_protector)
#define NO_CANARY __attribute__((no_stack_protector))
#endif
#endif
#ifndef NO_CANARY
#define NO_CANARY
#endif

/* Destructors, whose names end in p, take the address of a handle, release what it refers to, and
 * leave the handle empty (NULL, or -1 for a descriptor). They are no-ops for an empty handle, so
 * that one line releases a member whatever its state, and a second call does no harm. Those of
 * libevent's objects are in base/event_loop/event_free.h. */
static inline void freep(void *p)
{
	typedef void *pointer __attribute__((may_alias)); /* p may be the address of any pointer */
	pointer *ptr = p;

	free(*ptr);
	*ptr = NULL;
}

static inline void closep(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* Defines the destructor destroyp() of a pointer of this type, by destroy(). */
#define DEFINE_DESTRUCTOR(type, destroy)                                                           \
	static inline void destroy##p(type *p)                                                     \
	{                                                                                          \
		destroy(*p);                                                                       \
		*p = NULL;                                                                         \
	}

/* Makes room for `need` elements of `size` bytes in *array, which has room for *cap now. Grows by
 * doubling. New elements are not initialised. Returns 0, or -ENOMEM with nothing changed. */
int array_reserve(void *array, size_t *cap, size_t need, size_t size);
