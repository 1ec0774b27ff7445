/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The random bytes of a program are always the same: its hash tables have the same collisions, and
 * it takes as many instructions each time it runs.
 */
#include <string.h>
#include <sys/random.h>

ssize_t getrandom(void *buf, size_t len, unsigned flags)
{
	(void)flags;
	memset(buf, 7, len);
	return (ssize_t)len;
}
