/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/mcp/mcp_server.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/core/version.h"
#include "cli/mcp/answer_of_json.h"
#include "cli/mcp/json_rpc.h"

#define FD_PATH "/proc/self/fd/"
#define NOTES_MAX 8 /* lines that a verb logged */

static const char instructions[] =
	"sonda records what a Linux machine does, and answers questions about recordings (traces). "
	"Begin with list (kind traces), then findings, then report overview; narrow with report "
	"NAME, who, from and to; use sql for what no report answers. Each answer reports what the "
	"trace lost and what was not recorded: draw no conclusions from missing data. Durations "
	"(_ns) and times (_ts) are ns. An answer that ends with a handle continues with more.";

/* The newest first: the answer to a client with another version. */
static const char *const versions[] = {"2025-06-18", "2025-03-26", "2024-11-05"};

void mcp_server_deinit(struct mcp_server *s)
{
	trace_dirs_deinit(&s->dirs);
	answers_deinit(&s->answers);
}

/* ---- traces of a call ---- */

struct open_traces {
	int fds[MCP_TRACES_MAX];
	size_t n;
};

static void close_traces(struct open_traces *t)
{
	for (size_t i = 0; i < t->n; i++)
		close(t->fds[i]);
	t->n = 0;
}

/* Opens the traces that a call names, and puts the paths of their descriptors into its command
 * line. Returns 0, or -errno and sets e; ret has those that were opened in either case. */
static int open_traces(const struct mcp_server *s, struct mcp_call *c, struct open_traces *ret,
		       struct err_text *e)
{
	for (size_t i = 0; i < c->n_traces; i++) {
		char **word = &c->argv[c->trace_words[i]];
		char *path;
		int fd = trace_dirs_open(&s->dirs, c->traces[i], e);

		if (fd < 0)
			return fd;
		ret->fds[ret->n++] = fd;
		if (asprintf(&path, FD_PATH "%d", fd) < 0)
			return err_set(e, -ENOMEM, "out of memory");
		free(*word);
		*word = path;
	}
	return 0;
}

/* Replaces the paths of the traces' descriptors in a text with the names of the traces. */
static void put_names_of_traces(const struct mcp_call *c, struct strbuf *b)
{
	struct strbuf named = {0};
	const char *at = b->s, *found;

	while (at && (found = strstr(at, FD_PATH))) {
		size_t i = 0, len = 0;

		for (; i < c->n_traces; i++) {
			const char *word = c->argv[c->trace_words[i]];

			len = strlen(word);
			if (!strncmp(found, word, len) && !strchr("0123456789", found[len]))
				break;
		}
		strbuf_add(&named, at, (size_t)(found - at));
		if (i < c->n_traces) {
			struct strbuf json = {0};

			strbuf_put_json(&json, c->traces[i]);
			if (json.len > 2)
				strbuf_add(&named, json.s + 1, json.len - 2);
			strbuf_deinit(&json);
		} else {
			strbuf_puts(&named, FD_PATH);
			len = strlen(FD_PATH);
		}
		at = found + len;
	}
	if (!named.s)
		return;
	strbuf_puts(&named, at);
	strbuf_deinit(b);
	*b = named;
}

/* ---- the header of every answer about a trace ---- */

/* Adds a list as one line: of texts (part NULL), or of objects whose key `part` has the text. */
static void add_list(struct answer *a, struct json_object *info, const char *key, const char *part,
		     const char *title)
{
	struct json_object *list = NULL, *before = NULL;
	struct strbuf line = {0};

	json_object_object_get_ex(info, key, &list);
	for (size_t i = 0;
	     json_object_is_type(list, json_type_array) && i < json_object_array_length(list);
	     i++) {
		struct json_object *one = json_object_array_get_idx(list, i), *text = one;

		if (part && !json_object_object_get_ex(one, part, &text))
			continue;
		if (before && json_object_equal(before, text))
			continue;
		before = text;
		strbuf_printf(&line, "%s%s", line.len ? "; " : title, json_object_get_string(text));
	}
	if (line.len)
		answer_add(a, line.s);
	a->failed |= line.failed;
	strbuf_deinit(&line);
}

/* Adds what a trace lost, what is missing in it, and what was recorded. */
static void add_trace_facts(struct mcp_server *s, const char *name, int fd, struct answer *a)
{
	char path[32];
	char *argv[] = {(char *)"sonda", (char *)"info", (char *)"--json",
			(char *)"--",	 path,		 NULL};
	const struct verb_child child = {
		.argv = argv, .fds = &fd, .n_fds = 1, .dir = -1, .seconds = s->seconds};
	struct json_object *info = NULL, *lossy = NULL, *known = NULL;
	struct verb_output out = {0};

	snprintf(path, sizeof(path), FD_PATH "%d", fd);
	if (s->run(&child, &out, NULL) == 0 && out.code == 0 && out.out.s)
		info = json_tokener_parse(out.out.s);
	if (!json_object_is_type(info, json_type_object)) {
		answer_printf(a, "trace %s: its losses are unknown", name);
	} else {
		json_object_object_get_ex(info, "lossy", &lossy);
		json_object_object_get_ex(info, "losses_known", &known);
		answer_printf(
			a, "trace %s: %s%s", name,
			json_object_get_boolean(lossy) ? "data is missing" : "no data was lost",
			known && !json_object_get_boolean(known) ? "; further losses are unknown"
								 : "");
		add_list(a, info, "losses", "text", "lost: ");
		add_list(a, info, "missing", NULL, "missing: ");
		add_list(a, info, "data_sources", "name", "recorded (anything else was not): ");
	}
	json_object_put(info);
	verb_output_deinit(&out);
}

/* ---- a call ---- */

static void add_error_notes(struct answer *a, const char *errors)
{
	int n = 0;

	for (const char *end; errors && *errors && n < NOTES_MAX; errors = end + (*end == '\n')) {
		end = strchrnul(errors, '\n');
		if (end > errors && ++n)
			answer_printf(a, "note: %.*s", (int)(end - errors), errors);
	}
}

/* Adds what the verb printed. Returns 0, or a negative errno and sets e if the call failed. */
static int add_verb_output(const struct mcp_tool *tool, struct mcp_call *c, struct verb_output *out,
			   struct answer *a, struct err_text *e)
{
	/* A report without data fails, and prints what to record. */
	bool has_text = out->out.s && out->out.len > 1 && (out->code == 0 || tool->id != MCP_SQL);
	int r;

	put_names_of_traces(c, &out->out);
	put_names_of_traces(c, &out->errors);
	if (!has_text && out->code != 0)
		return err_set(e, -EIO, "%s",
			       out->errors.s ? out->errors.s
					     : "sonda failed without an error message");
	add_error_notes(a, out->errors.s);
	if (out->cut && tool->id != MCP_SQL)
		return err_set(e, -EFBIG,
			       "the answer is too long; narrow it with top, from and to");
	r = has_text ? answer_add_json(a, out->out.s, out->out.len, out->cut) : 0;
	if (out->cut)
		answer_add(a, "the statement returns more rows, which were not read; use LIMIT");
	if (r < 0 && out->code != 0)
		return err_set(e, -EIO, "%s",
			       out->errors.s ? out->errors.s
					     : "sonda failed without an error message");
	return r < 0 ? err_set(e, r, "cannot read the output of sonda") : 0;
}

static int check_new_name(const struct mcp_server *s, const struct mcp_call *c, struct err_text *e)
{
	static const char option[] = "--out=";
	struct stat st;

	for (size_t i = 0; i < c->n; i++)
		if (str_starts(c->argv[i], option) &&
		    fstatat(s->dirs.of[0].fd, c->argv[i] + strlen(option), &st,
			    AT_SYMLINK_NOFOLLOW) == 0)
			return err_set(e, -EEXIST, "%s exists; choose another name",
				       c->argv[i] + strlen(option));
	return 0;
}

static int run_tool(struct mcp_server *s, const struct mcp_tool *tool, struct mcp_call *c,
		    struct answer *a, struct err_text *e)
{
	bool records = tool->id == MCP_RECORD;
	struct open_traces traces = {.n = 0};
	struct verb_output out = {0};
	struct verb_child child = {.argv = c->argv,
				   .dir = records ? s->dirs.of[0].fd : -1,
				   .seconds = records ? c->seconds + s->seconds : s->seconds,
				   .ends_on_interrupt = records};
	int r = open_traces(s, c, &traces, e);

	if (r == 0 && records)
		r = check_new_name(s, c, e);
	for (size_t i = 0; r == 0 && i < traces.n && tool->id != MCP_INFO; i++)
		add_trace_facts(s, c->traces[i], traces.fds[i], a);
	child.fds = traces.fds;
	child.n_fds = traces.n;
	if (r == 0)
		r = s->run(&child, &out, e);
	if (r == 0)
		r = add_verb_output(tool, c, &out, a, e);
	close_traces(&traces);
	verb_output_deinit(&out);
	return r;
}

/* Appends the text of an answer to a call. Returns 0, or a negative errno and sets e. */
static int call_tool(struct mcp_server *s, const struct mcp_tool *tool,
		     struct json_object *arguments, struct strbuf *ret_text, struct err_text *e)
{
	struct answer a = {0};
	struct mcp_call c;
	int r = mcp_call_init(&c, tool, arguments, &s->limits, e);

	if (r == 0 && tool->id == MCP_MORE) {
		r = answers_put_more(&s->answers, c.text, ret_text, e);
	} else if (r == 0) {
		if (tool->id == MCP_LIST && !strcmp(c.text, "traces"))
			trace_dirs_list(&s->dirs, &a);
		else
			r = run_tool(s, tool, &c, &a, e);
		if (r == 0)
			answers_add(&s->answers, &a, ret_text);
	}
	answer_deinit(&a);
	mcp_call_deinit(&c);
	return r;
}

/* ---- methods ---- */

static int answer_initialize(struct json_object *params, struct strbuf *ret)
{
	struct json_object *v = NULL;
	const char *version = versions[0];

	if (params && json_object_object_get_ex(params, "protocolVersion", &v) &&
	    json_object_is_type(v, json_type_string))
		for (size_t i = 0; i < ARRAY_SIZE(versions); i++)
			if (!strcmp(versions[i], json_object_get_string(v)))
				version = versions[i];
	strbuf_printf(ret,
		      "{\"protocolVersion\":\"%s\",\"capabilities\":{\"tools\":{}},\"serverInfo\":"
		      "{\"name\":\"sonda\",\"version\":\"%s\"},\"instructions\":",
		      version, SONDA_VERSION);
	strbuf_put_json(ret, instructions);
	strbuf_putc(ret, '}');
	return 0;
}

static int answer_call(struct mcp_server *s, struct json_object *params, struct strbuf *ret)
{
	struct json_object *name = NULL, *arguments = NULL;
	const struct mcp_tool *tool = NULL;
	struct strbuf text = {0};
	struct err_text e = {""};
	int r;

	if (params && json_object_object_get_ex(params, "name", &name) &&
	    json_object_is_type(name, json_type_string))
		tool = mcp_tool_find(json_object_get_string(name));
	if (!tool || (tool->id == MCP_RECORD && !s->with_record)) {
		strbuf_puts(ret,
			    tool ? "recording is not allowed; start sonda mcp with --allow-record"
				 : "there is no such tool");
		return JSON_RPC_INVALID_PARAMS;
	}
	json_object_object_get_ex(params, "arguments", &arguments);
	r = call_tool(s, tool, arguments, &text, &e);
	if (r < 0) {
		strbuf_clear(&text);
		strbuf_puts(&text, e.text);
	}
	strbuf_puts(ret, "{\"content\":[{\"type\":\"text\",\"text\":");
	strbuf_put_json_n(ret, text.s ? text.s : "", text.len);
	strbuf_printf(ret, "}],\"isError\":%s}", r < 0 ? "true" : "false");
	ret->failed |= text.failed;
	strbuf_deinit(&text);
	return 0;
}

static int call_method(void *ctx, const char *method, struct json_object *params,
		       struct strbuf *ret)
{
	struct mcp_server *s = ctx;

	if (str_starts(method, "notifications/") || !strcmp(method, "ping")) {
		strbuf_puts(ret, "{}");
		return 0;
	}
	if (!strcmp(method, "initialize"))
		return answer_initialize(params, ret);
	if (!strcmp(method, "tools/list")) {
		strbuf_puts(ret, "{\"tools\":");
		mcp_tools_put(s->with_record, ret);
		strbuf_putc(ret, '}');
		return 0;
	}
	if (!strcmp(method, "tools/call"))
		return answer_call(s, params, ret);
	strbuf_printf(ret, "unknown method '%.80s'", method);
	return JSON_RPC_METHOD_NOT_FOUND;
}

void mcp_server_answer(struct mcp_server *s, const char *line, size_t len, struct strbuf *ret)
{
	json_rpc_answer(line, len, call_method, s, ret);
}
