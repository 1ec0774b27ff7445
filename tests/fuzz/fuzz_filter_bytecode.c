/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/core/mem.h"
#include "fuzz_filter_code.h"
#include "service/filter/filter_bytecode.h"

/*
 *	input	| len | len bytes of overlay | bytecode |	len: 1 byte
 *
 * What is accepted must say of each field that its words name, and of those beside it, what they
 * say when they are read one after the other; with an overlay, it must only answer.
 */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MAX_WORDS 4096u

static uint32_t words[MAX_WORDS];
static size_t n_words;

static void read_words(const uint8_t *data, size_t len)
{
	const uint8_t *p = data, *end = data + len;
	uint64_t v;

	for (n_words = 0; p != end && n_words < MAX_WORDS; n_words++) {
		p = pb_get_varint(p, end, &v);
		assert(p);
		words[n_words] = (uint32_t)v;
	}
}

static size_t arguments(uint32_t word)
{
	return (word & 7) == 2 || (word & 7) == 3 || (word & 7) == 5;
}

/* Of the message whose words begin at i; the last word for a field counts. */
static enum filter_action reference(size_t i, uint64_t field, uint32_t *ret_argument)
{
	enum filter_action action = FILTER_DROP;

	*ret_argument = 0;
	for (; words[i] & 7; i += 1 + arguments(words[i])) {
		uint64_t first = words[i] >> 3, count = (words[i] & 7) == 2 ? words[i + 1] : 1;

		if (field < first || field >= first + count || field >= 1u << 29)
			continue;
		switch (words[i] & 7) {
		case 1:
		case 2:
			action = FILTER_KEEP;
			break;
		case 3:
			action = FILTER_NESTED;
			*ret_argument = words[i + 1];
			break;
		default:
			action = FILTER_STRING;
			*ret_argument =
				(words[i] & 7) == 5 ? MIN(words[i + 1], FILTER_OTHER_TYPE) : 0;
		}
	}
	return action;
}

static void compare(const struct filter_bytecode *b, uint32_t message, size_t start, uint64_t field)
{
	uint32_t got, want;
	enum filter_action action = reference(start, field, &want);

	assert(filter_bytecode_action(b, message, field, &got) == action);
	assert(action == FILTER_DROP || action == FILTER_KEEP || got == want);
}

static void compare_all(const struct filter_bytecode *b)
{
	uint32_t message = 0, tries = 0;
	size_t start = 0;

	for (size_t i = 0; i < n_words && tries < 2000; i += 1 + arguments(words[i])) {
		uint64_t first = words[i] >> 3, count = (words[i] & 7) == 2 ? words[i + 1] : 1;

		if ((words[i] & 7) == 0) {
			start = i + 1;
			message++;
			continue;
		}
		compare(b, message, start, first - 1);
		compare(b, message, start, first);
		compare(b, message, start, first + count - 1);
		compare(b, message, start, first + count);
		tries++;
	}
}

/* Every argument leads to a message that is there. */
static void walk(const struct filter_bytecode *b)
{
	uint32_t message = filter_bytecode_root(b), argument;

	for (uint64_t field = 0; field < 2000; field++)
		if (filter_bytecode_action(b, message, field, &argument) == FILTER_NESTED)
			message = argument;
	filter_bytecode_action(b, message, UINT64_MAX, &argument);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t code_len, overlay_len = 0, overlay_size = size ? MIN(data[0], size - 1) : 0;
	struct filter_bytecode *b;
	uint8_t *code, *overlay = NULL;
	struct err_text e;

	if (size == 0)
		return 0;
	if (filter_bytecode_new(data, size, NULL, 0, &e, &b) == 0)
		filter_bytecode_free(b);
	if (overlay_size > 0)
		overlay = with_checksum(data + 1, overlay_size, &overlay_len);
	code = with_checksum(data + 1 + overlay_size, size - 1 - overlay_size, &code_len);
	if (filter_bytecode_new(code, code_len, overlay, overlay_len, &e, &b) == 0) {
		walk(b);
		read_words(data + 1 + overlay_size, size - 1 - overlay_size);
		if (overlay_size == 0 && n_words < MAX_WORDS)
			compare_all(b);
		filter_bytecode_free(b);
	}
	free(code);
	free(overlay);
	return 0;
}
