/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "service/filter/packet_validate.h"
#include "wire/pb_dec.h"
#include "wire/pb_enc.h"

/*
 * Bytes of the input: one for how the rest is cut into slices, then a packet. The gate must say
 * the same as a plain decoder does with the packet in one piece, and behind a packet that it lets
 * through the trailer must be read as the service wrote it.
 */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MAX_SLICES 64u

static bool is_reserved(uint32_t id)
{
	static const uint8_t ids[] = {3, 10, 33, 35, 36, 50, 69, 79, 98, 124, 125, 133};

	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		if (ids[i] == id)
			return true;
	}
	return false;
}

static bool reference(const uint8_t *data, size_t len)
{
	struct pb_field f;
	struct pb_dec d;

	pb_dec_init(&d, data, len);
	while (pb_dec_next(&d, &f)) {
		if (is_reserved(f.id))
			return false;
	}
	return pb_dec_ok(&d);
}

static bool gate(const uint8_t *data, size_t len, uint8_t seed)
{
	struct iovec slices[MAX_SLICES];
	size_t n = 0;
	bool accepted;

	while (len > 0 || n == 0) {
		size_t part = n == MAX_SLICES - 1 ? len : MIN(len, (size_t)(seed % 16));

		/* Each in memory of its own, so that a step over its end is seen. */
		slices[n].iov_base = malloc(part ? part : 1);
		assert(slices[n].iov_base);
		memcpy(slices[n].iov_base, data, part);
		slices[n++].iov_len = part;
		data += part;
		len -= part;
		seed = (uint8_t)(seed * 5 + 3);
	}
	accepted = packet_is_valid(slices, n);
	while (n--)
		free(slices[n].iov_base);
	return accepted;
}

static void check_trailer(const uint8_t *data, size_t len)
{
	struct trace_packet p = {.writer = {.producer_id = 1, .uid = 12345, .pid = 678}};
	uint8_t *whole = malloc(len + PACKET_MAX_TRAILER);
	uint64_t uid = 0, sequence_id = 0, pid = 0;
	struct pb_field f;
	struct pb_dec d;

	assert(whole);
	memcpy(whole, data, len);
	pb_dec_init(&d, whole, len + packet_put_trailer(whole + len, &p, 90));
	while (pb_dec_next(&d, &f)) {
		uid = f.id == 3 ? f.u64 : uid;
		sequence_id = f.id == 10 ? f.u64 : sequence_id;
		pid = f.id == 79 ? f.u64 : pid;
	}
	assert(pb_dec_ok(&d) && uid == 12345 && sequence_id == 90 && pid == 678);
	free(whole);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	assert(gate(data + 1, size - 1, data[0]) == reference(data + 1, size - 1));
	if (reference(data + 1, size - 1))
		check_trailer(data + 1, size - 1);
	return 0;
}
