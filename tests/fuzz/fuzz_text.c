/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trace config of any bytes, as text and as what it looks like: it is read, or there is an error
 * to tell; and what was read says the same after it was printed and read again.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "config/text.h"
#include "config/trace_config.h"

#define MUST(condition) ((condition) ? (void)0 : abort())

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint8_t *pack(const Pb__TraceConfig *config, size_t *ret_len)
{
	uint8_t *bytes = malloc(pb__trace_config__get_packed_size(config) + 1);

	MUST(bytes);
	*ret_len = pb__trace_config__pack(config, bytes);
	return bytes;
}

/* Unknown enum values and fields have no name that could be read again. */
static void check_printed(const Pb__TraceConfig *config, bool readable)
{
	struct strbuf text = {0}, errors = {0};
	ProtobufCMessage *again;
	size_t n, m;
	uint8_t *a = pack(config, &n), *b;
	int r;

	text_print(&config->base, &text);
	r = text_parse(&pb__trace_config__descriptor, "printed", text.s, text.len, &errors, &again);
	MUST(r == 0 || !readable);
	if (r == 0) {
		b = pack((Pb__TraceConfig *)again, &m);
		MUST(!readable || (n == m && memcmp(a, b, n) == 0));
		free(b);
		protobuf_c_message_free_unpacked(again, NULL);
	}
	strbuf_deinit(&text);
	strbuf_deinit(&errors);
	free(a);
}

static void check(const uint8_t *data, size_t size, enum trace_config_form form)
{
	struct strbuf errors = {0};
	Pb__TraceConfig *config;
	int r = trace_config_load("fuzz", data, size, form, &errors, &config);

	MUST(r == 0 || r == -EINVAL);
	MUST((r == 0) == (errors.len == 0));
	if (r == 0) {
		check_printed(config, form == TRACE_CONFIG_TEXT);
		pb__trace_config__free_unpacked(config, NULL);
	}
	strbuf_deinit(&errors);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check(data, size, TRACE_CONFIG_TEXT);
	check(data, size, TRACE_CONFIG_TEXT_LOSSY);
	if (!text_looks_like(data, size))
		check(data, size, TRACE_CONFIG_DETECT);
	return 0;
}
