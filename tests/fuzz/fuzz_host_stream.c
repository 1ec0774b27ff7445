/* SPDX-License-Identifier: Apache-2.0 */
/* The frames that sonda record --host and its agent send each other. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/host/host_stream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A request that is decoded is encoded to the same bytes, apart from a number with zeros before it. */
static void decode_request(const uint8_t *data, size_t len)
{
	struct host_request r, again;
	struct strbuf b = {0};

	if (host_request_decode(data, len, &r))
		return;
	if (host_request_put(&b, &r) ||
	    host_request_decode((uint8_t *)b.s + HOST_FRAME_HEAD, b.len - HOST_FRAME_HEAD, &again))
		abort();
	if (again.argc != r.argc || strcmp(again.argv[0], r.argv[0]) != 0 ||
	    again.config_len != r.config_len)
		abort();
	free(r.argv);
	free(again.argv);
	strbuf_deinit(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size + !size);
	struct host_frame f;
	uint64_t v64[3];
	uint32_t v32[2];
	ssize_t n;

	memcpy(copy, data, size);
	for (size_t at = 0; at < size; at += (size_t)n) {
		n = host_frame_decode(copy + at, size - at, &f);
		if (n <= 0)
			break;
		if (f.len + HOST_FRAME_HEAD != (size_t)n || (size_t)n > size - at)
			abort();
		(void)host_frame_u64(&f, v64, 3);
		(void)host_frame_u32(&f, v32, 2);
		if (f.type == HOST_REQUEST)
			decode_request(f.data, f.len);
	}
	decode_request(copy, size);
	free(copy);
	return 0;
}
