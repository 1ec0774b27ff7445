// SPDX-License-Identifier: Apache-2.0

#include "cli/trace/packet_join.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"

void packet_join_deinit(struct packet_join *j)
{
	free(j->buf);
	*j = (struct packet_join){0};
}

int packet_join_slice(struct packet_join *j, const uint8_t *data, size_t len, bool ends,
		      const uint8_t **ret_packet, size_t *ret_len)
{
	if (ends && !j->len) {
		*ret_packet = data;
		*ret_len = len;
		return 1;
	}
	if (len > PACKET_JOIN_MAX - j->len)
		return -EFBIG;
	if (array_reserve(&j->buf, &j->cap, j->len + len, 1))
		return -ENOMEM;
	if (len)
		memcpy(j->buf + j->len, data, len);
	j->len += len;
	if (!ends)
		return 0;
	*ret_packet = j->buf;
	*ret_len = j->len;
	j->len = 0;
	return 1;
}
