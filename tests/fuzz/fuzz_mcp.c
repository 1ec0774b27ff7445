/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/mcp/answer_of_json.h"
#include "cli/mcp/mcp_server.h"

/*
 * The bytes up to an empty line are lines of a client of sonda mcp, and the rest is what the verbs print,
 * which no call runs here.
 */

#define MUST(condition) ((condition) ? (void)0 : abort())

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *printed;
static size_t printed_len;

static int print_rest(const struct verb_child *c, struct verb_output *ret, struct err_text *e)
{
	(void)e;
	MUST(c->argv[0] && c->argv[1]);
	/* An argument that is no option of ours comes after "--", or is part of a word. */
	for (size_t i = 1; c->argv[i] && strcmp(c->argv[i], "--") != 0; i++)
		MUST(c->argv[i][0] != '-' || !strncmp(c->argv[i], "--", 2));
	strbuf_add(&ret->out, printed, printed_len);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mcp_server s = {
		.limits = {.memory = "1g", .record_seconds = 10}, .seconds = 1, .run = print_rest};
	struct strbuf answer = {0};
	char *text = malloc(size + 1), *end, *line;

	if (!text)
		return 0;
	if (size)
		memcpy(text, data, size);
	text[size] = '\0';
	end = memmem(text, size, "\n\n", 2);
	printed = end ? end + 2 : "";
	printed_len = end ? size - (size_t)(end + 2 - text) : 0;
	if (!end)
		end = text + size;
	for (line = text; line < end;) {
		char *next = memchr(line, '\n', (size_t)(end - line));

		next = next ? next : end;
		*next = '\0';
		mcp_server_answer(&s, line, (size_t)(next - line), &answer);
		MUST(!answer.len || answer.s[answer.len - 1] == '\n');
		strbuf_clear(&answer);
		line = next + 1;
	}
	strbuf_deinit(&answer);
	mcp_server_deinit(&s);
	free(text);
	return 0;
}
