/* SPDX-License-Identifier: Apache-2.0 */
#include "service/decode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int decode_string(const struct pb_field *f, size_t max, char **s)
{
	char *copy;

	if (f->len > max)
		return -EMSGSIZE;
	if (memchr(f->data, '\0', f->len))
		return -EINVAL;
	copy = strndup((const char *)f->data, f->len);
	if (!copy)
		return -ENOMEM;
	free(*s);
	*s = copy;
	return 0;
}
