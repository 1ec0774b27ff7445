/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"

#include <errno.h>
#include <stdint.h>

#define FIRST_CAP 8

int array_reserve(void *array, size_t *cap, size_t need, size_t size)
{
	void **items = array, *grown;
	size_t n = *cap;

	if (need <= n)
		return 0;
	n = n > SIZE_MAX / 2 ? need : MAX(MAX(n * 2, need), FIRST_CAP);
	/* Checks the product as well; nothing above 2^63 bytes can be had anyway. */
	grown = reallocarray(*items, n, size);
	if (!grown)
		return -ENOMEM;
	*items = grown;
	*cap = n;
	return 0;
}
