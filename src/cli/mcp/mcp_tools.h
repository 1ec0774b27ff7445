/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/text/str.h"

/*
 * The tools of sonda mcp: their table, its JSON, and the command line that a call stands for. A
 * model chooses the arguments, so they are hostile: no argument can become an option, and traces
 * are only named by descriptors that the caller opens.
 */

#define MCP_ARGS_MAX 12
#define MCP_TEXTS_MAX 64 /* texts of one argument */
#define MCP_TEXT_MAX 65536 /* bytes of one text */
#define MCP_TRACES_MAX 32

enum mcp_tool_id {
	MCP_LIST,
	MCP_DESCRIBE,
	MCP_DOCTOR,
	MCP_RECORD,
	MCP_INFO,
	MCP_REPORT,
	MCP_FINDINGS,
	MCP_SQL,
	MCP_DIFF,
	MCP_MORE,
};

enum mcp_arg_kind {
	MCP_TEXT,
	MCP_TEXTS, /* a list; a single text is one, too */
	MCP_NUMBER, /* a positive whole number */
	MCP_TRACE, /* the name of a trace */
	MCP_TRACES,
};

struct mcp_tool {
	const char *name, *help;
	enum mcp_tool_id id;
	struct mcp_arg {
		const char *name, *help;
		enum mcp_arg_kind kind;
		bool is_required;
		const char *option; /* "--from="; NULL: a word */
	} args[MCP_ARGS_MAX]; /* the last one has no name */
};

/* Returns a tool, or NULL after the last one. */
const struct mcp_tool *mcp_tool_at(size_t i);
/* Returns the tool of a name, or NULL. */
const struct mcp_tool *mcp_tool_find(const char *name);

/* Appends the table as the value of "tools" in the answer to tools/list. */
void mcp_tools_put(bool with_record, struct strbuf *b);

/* A call of a tool: its command line. mcp_call_deinit() frees. */
struct mcp_call {
	char *argv[MCP_TEXTS_MAX + MCP_TRACES_MAX +
		   16]; /* owned; the program first, NULL at the end */
	size_t n;
	char *traces[MCP_TRACES_MAX]; /* owned: names of traces */
	size_t trace_words[MCP_TRACES_MAX]; /* the words of argv that name them */
	size_t n_traces;
	char *text; /* owned: the kind of list, or the handle of more; NULL: none */
	unsigned seconds; /* of a recording */
};

struct mcp_limits {
	const char *memory; /* of a trace, as --memory takes it */
	unsigned record_seconds; /* the longest recording */
};

/* Checks the arguments (an object or NULL) and makes the command line, in which each trace is an
 * empty word. Returns 0, or -EINVAL and sets e. mcp_call_deinit() frees in both cases. */
int mcp_call_init(struct mcp_call *c, const struct mcp_tool *tool, struct json_object *arguments,
		  const struct mcp_limits *limits, struct err_text *e);
void mcp_call_deinit(struct mcp_call *c);
