/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/core/err.h"
#include "cli/mcp/answer_pages.h"
#include "cli/mcp/mcp_tools.h"
#include "cli/mcp/trace_dirs.h"
#include "cli/mcp/verb_child.h"

/*
 * The methods of the Model Context Protocol that a server of tools has: initialize, ping,
 * tools/list and tools/call. Notifications are ignored.
 */

/* Runs a verb; tests replace it. */
typedef int mcp_run(const struct verb_child *c, struct verb_output *ret, struct err_text *e);

struct mcp_server {
	struct trace_dirs dirs;
	struct answers answers;
	struct mcp_limits limits;
	unsigned seconds; /* the longest time of a call, except recordings */
	bool with_record;
	mcp_run *run;
};

void mcp_server_deinit(struct mcp_server *s);

/* Answers a line of the client, as json_rpc_answer() does. */
void mcp_server_answer(struct mcp_server *s, const char *line, size_t len, struct strbuf *ret);
