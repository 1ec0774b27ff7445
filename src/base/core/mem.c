/* SPDX-License-Identifier: Apache-2.0 */
#include "base/core/mem.h"

#include <errno.h>
#include <stdint.h>

#define FIRST_CAP 8

int array_reserve(void *array, size_t *cap, size_t need, size_t size)
{
	const size_t max = PTRDIFF_MAX / size; /* no object is larger */
	void **items = array, *grown;
	size_t n;

	if (need <= *cap)
		return 0;
	if (need > max)
		return -ENOMEM;
	n = MIN(MAX(MAX(*cap * 2, need), (size_t)FIRST_CAP), max);
	grown = realloc(*items, n * size);
	if (!grown)
		return -ENOMEM;
	*items = grown;
	*cap = n;
	return 0;
}
