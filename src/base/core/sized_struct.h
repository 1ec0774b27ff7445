/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <errno.h>
#include <stddef.h>
#include <string.h>

/*
 * Options that a program passes to one of our libraries. The first member is a size_t: the size of
 * the struct in the header that the program was compiled with. Later versions of a struct append
 * members after its end (padding included), and 0 in a new member means the former behaviour.
 */

/* Copies the program's struct `from` into `to`, which has `size` bytes in this version of the
 * library. Members that the program does not know become 0. Returns 0, or -EINVAL: the size is
 * smaller than the member that holds it, or a member that this version does not know is not 0.
 * Then `to` is not written. */
static inline int sized_struct_copy(void *to, size_t size, const void *from)
{
	const unsigned char *bytes = from;
	size_t given;

	memcpy(&given, from, sizeof(given));
	if (given < sizeof(given))
		return -EINVAL;
	for (size_t i = size; i < given; i++)
		if (bytes[i] != 0)
			return -EINVAL;
	memset(to, 0, size);
	memcpy(to, from, given < size ? given : size);
	return 0;
}
