/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "fuzz_filter_code.h"
#include "service/filter/filter_bytecode.h"
#include "service/filter/filter_message.h"
#include "service/filter/filter_strings.h"

/*
 *	input	| len | len bytes of bytecode | len | len bytes of a StringFilterChain | packet |
 *								each len: 1 byte
 *
 * The packet comes out the same in place and not, no longer than it was, and as a message that can
 * be filtered again.
 */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BUDGET 200000u

/* The next part; moves on. */
static const uint8_t *take(const uint8_t **data, size_t *size, size_t *ret_len)
{
	const uint8_t *part = *data + 1;

	if (*size == 0)
		return NULL;
	*ret_len = MIN(**data, *size - 1);
	*data += 1 + *ret_len;
	*size -= 1 + *ret_len;
	return part;
}

static struct filter_strings *load_strings(const uint8_t *data, size_t len)
{
	ProtobufCMessage *chain = protobuf_c_message_unpack(
		&pb__trace_config__trace_filter__string_filter_chain__descriptor, NULL, len, data);
	struct filter_strings *s = NULL;
	struct err_text e;

	if (filter_strings_new((Pb__TraceConfig__TraceFilter__StringFilterChain *)chain, NULL, &e,
			       &s) < 0)
		s = NULL;
	if (chain)
		protobuf_c_message_free_unpacked(chain, NULL);
	return s;
}

static void check(const struct filter_bytecode *code, struct filter_strings *strings,
		  const uint8_t *packet, size_t size)
{
	uint8_t *in = malloc(size + 1), *out = malloc(size + 1);
	uint64_t budget = BUDGET;
	size_t len, again;
	int r;

	assert(in && out);
	memcpy(in, packet, size);
	r = filter_message(code, strings, in, size, out, &len, &budget);
	assert(memcmp(in, packet, size) == 0);
	budget = BUDGET;
	assert(filter_message(code, strings, in, size, in, &again, &budget) == r);
	if (r == 0) {
		assert(len == again && len <= size && memcmp(in, out, len) == 0);
		budget = 8 * BUDGET;
		r = filter_message(code, strings, out, len, out, &again, &budget);
		assert(r == -E2BIG || (r == 0 && again <= len));
	}
	free(in);
	free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t code_size = 0, chain_size = 0, code_len;
	const uint8_t *words = take(&data, &size, &code_size);
	const uint8_t *chain = words ? take(&data, &size, &chain_size) : NULL;
	struct filter_strings *strings;
	struct filter_bytecode *code;
	struct err_text e;
	uint8_t *bytes;

	if (!chain)
		return 0;
	bytes = with_checksum(words, code_size, &code_len);
	strings = load_strings(chain, chain_size);
	if (strings && filter_bytecode_new(bytes, code_len, NULL, 0, &e, &code) == 0) {
		check(code, strings, data, size);
		filter_bytecode_free(code);
	}
	filter_strings_free(strings);
	free(bytes);
	return 0;
}
