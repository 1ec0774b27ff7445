/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any rules on any text of ftrace/print, compared with the same rules in words of string.h.
 *
 * The first byte says how many of the next are a serialized PrintFilter; the text is what is left,
 * in memory of just that size.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "config/unpack.h"
#include "ftrace/events/print_filter.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with ? with : "", with ? strlen(with) : 0);
}

static bool begins_as_atrace(const char *text, const char *type, const char *prefix)
{
	size_t digits;

	if (!begins(text, type))
		return false;
	text += type ? strlen(type) : 0;
	if (*text++ != '|')
		return false;
	digits = strspn(text, "0123456789");
	return digits && text[digits] == '|' && begins(text + digits + 1, prefix);
}

static bool wanted(const Pb__FtraceConfig__PrintFilter *c, const char *text)
{
	for (size_t i = 0; i < c->n_rules; i++) {
		const Pb__FtraceConfig__PrintFilter__Rule *r = c->rules[i];
		bool matches = true;

		if (r->match_case == PB__FTRACE_CONFIG__PRINT_FILTER__RULE__MATCH_PREFIX)
			matches = begins(text, r->prefix);
		else if (r->match_case == PB__FTRACE_CONFIG__PRINT_FILTER__RULE__MATCH_ATRACE_MSG)
			matches =
				begins_as_atrace(text, r->atrace_msg->type, r->atrace_msg->prefix);
		if (matches)
			return r->allow;
	}
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t n = size ? data[0] : 0, len;
	Pb__FtraceConfig config = PB__FTRACE_CONFIG__INIT;
	Pb__FtraceConfig__PrintFilter *c;
	struct print_filter *filter;
	ProtobufCMessage *message;
	uint8_t *text;
	char *string;
	int r;

	if (size < 1 + n ||
	    unpack_untrusted(&pb__ftrace_config__print_filter__descriptor, data + 1, n, &message))
		return 0;
	c = (Pb__FtraceConfig__PrintFilter *)message;
	config.print_filter = c;
	len = size - 1 - n;
	text = malloc(len ? len : 1);
	assert(text);
	memcpy(text, data + 1 + n, len);
	string = strndup((char *)data + 1 + n, len);
	assert(string);
	r = print_filter_new(&config, false, &filter);
	assert(r == 0);
	assert(!filter == !c->n_rules);
	if (filter)
		assert(print_filter_allows(filter, 1, text, len) == wanted(c, string));
	print_filter_free(filter);
	free(string);
	free(text);
	protobuf_c_message_free_unpacked(message, NULL);
	return 0;
}
