/* SPDX-License-Identifier: Apache-2.0 */
/* Two traces of any bytes, merged: what is written is valid protobuf. The first two bytes are the length of the first one. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "analyze/merge/merge_trace.h"
#include "analyze/packets.h"
#include "base/core/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool any_field(uint32_t field)
{
	(void)field;
	return true;
}

static int check(void *ctx, const uint8_t *packet, size_t len)
{
	struct packet read;

	(void)ctx;
	if (!packet_read(&read, packet, len, any_field))
		abort();
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct merge_output out = {.write = check};
	struct merge_input inputs[2] = {0};
	size_t first, of, with;

	if (size < 2)
		return 0;
	first = MIN((size_t)data[0] << 8 | data[1], size - 2);
	inputs[0] = (struct merge_input){.data = data + 2, .len = first, .machine = "a"};
	inputs[1] = (struct merge_input){
		.data = data + 2 + first, .len = size - 2 - first, .machine = "b"};
	if (merge_input_read(&inputs[0]) == 0 && merge_input_read(&inputs[1]) == 0 &&
	    merge_trace_plan(inputs, 2, &of, &with) == MERGE_POSSIBLE)
		merge_trace_write(inputs, 2, &out);
	return 0;
}
