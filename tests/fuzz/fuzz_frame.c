/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as an IPCFrame: every view lies in them, and a frame made from what was read is read
 * alike.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "wire/frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool truth)
{
	if (!truth)
		abort();
}

static void check_view(const void *view, size_t len, const uint8_t *data, size_t size)
{
	const uint8_t *p = view;

	require(len == 0 || (p >= data && len <= size && p <= data + size - len));
}

static void check_methods(const struct frame *f)
{
	size_t pos = 0, len, n = 0;
	const char *name;
	uint32_t id;

	while (frame_next_method(f, &pos, &id, &name, &len)) {
		require(id != 0 && len > 0 && pos <= f->payload_len);
		check_view(name, len, f->payload, f->payload_len);
		n++;
	}
	require(n <= f->payload_len);
}

static void check_again(const struct frame *f)
{
	uint8_t *buf = malloc(FRAME_MAX_HEAD + f->payload_len);
	struct frame again;
	size_t head;

	if (!buf)
		return;
	if (f->kind == FRAME_INVOKE_METHOD)
		head = frame_put_invoke(buf, f->request_id, f->service_id, f->method_id,
					f->drop_reply, f->payload_len);
	else
		head = frame_put_reply(buf, f->request_id, f->success, f->has_more, f->payload_len);
	require(head <= FRAME_MAX_HEAD);
	if (f->payload_len > 0)
		memcpy(buf + head, f->payload, f->payload_len);
	require(frame_decode(buf, head + f->payload_len, &again) == 0);
	require(again.kind == f->kind && again.request_id == f->request_id);
	require(again.service_id == f->service_id && again.method_id == f->method_id);
	require(again.drop_reply == f->drop_reply && again.success == f->success);
	require(again.has_more == f->has_more && again.payload_len == f->payload_len);
	if (f->payload_len > 0)
		require(memcmp(again.payload, f->payload, f->payload_len) == 0);
	free(buf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct frame f;

	if (frame_decode(data, size, &f) < 0)
		return 0;
	check_view(f.text, f.text_len, data, size);
	check_view(f.payload, f.payload_len, data, size);
	if (f.kind == FRAME_BIND_SERVICE_REPLY)
		check_methods(&f);
	if (f.kind == FRAME_INVOKE_METHOD || f.kind == FRAME_INVOKE_METHOD_REPLY)
		check_again(&f);
	return 0;
}
