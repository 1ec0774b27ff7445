/* SPDX-License-Identifier: Apache-2.0 */
#include "service/ipc/request_decode.h"

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

int check_request_parses(const uint8_t *args, size_t len)
{
	struct pb_field f;
	struct pb_dec d;

	pb_dec_init(&d, args, len);
	while (pb_dec_next(&d, &f))
		;
	return pb_dec_ok(&d) ? 0 : -EBADMSG;
}
