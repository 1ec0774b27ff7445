/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/mcp/mcp_tools.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"

#define TRACE_ARG                                                                                  \
	{                                                                                          \
		"trace", "name of a trace, as returned by list with kind traces", MCP_TRACE, true, \
			NULL                                                                       \
	}
#define WHO_ARG                                                                                    \
	{                                                                                          \
		"who", "only these processes or threads: 12,34 or names with * and ?", MCP_TEXT,   \
			false, "--pid="                                                            \
	}
#define WINDOW_ARGS                                                                                \
	{"from", "start at this offset into the trace, in seconds", MCP_TEXT, false, "--from="},   \
	{                                                                                          \
		"to", "end at this offset", MCP_TEXT, false, "--to="                               \
	}

static const struct mcp_tool tools[] = {
	{"list",
	 "Lists the traces that can be read (kind traces), or what can be recorded on this "
	 "machine.",
	 MCP_LIST,
	 {{"kind", "traces (default), events, groups, presets, sources, families or categories",
	   MCP_TEXT, false, NULL},
	  {"pattern", "only names that match, with * and ?", MCP_TEXT, false, NULL}}},
	{"describe",
	 "Describes an event, group, preset, data source or eBPF family that can be recorded.",
	 MCP_DESCRIBE,
	 {{"word", "its name: sched, sched:sched_switch, linux.perf", MCP_TEXT, true, NULL}}},
	{"doctor",
	 "Checks what a recording on this machine needs, with the command that fixes each problem.",
	 MCP_DOCTOR,
	 {{"checks", "only these checks: kernel, rights, bpf, disk ...", MCP_TEXTS, false, NULL}}},
	{"record",
	 "Records this machine into a new trace in the first directory, and returns its summary.",
	 MCP_RECORD,
	 {{"words", "what: presets such as sched, waits, syscalls, io, net; or events", MCP_TEXTS,
	   true, NULL},
	  {"name", "name of the new trace: letters, digits, . _ -", MCP_TEXT, true, "--out="},
	  {"seconds", "duration in seconds; default 5", MCP_NUMBER, false, NULL},
	  {"process", "only these processes and their children: 12,34 or a name", MCP_TEXT, false,
	   "--pid="}}},
	{"info",
	 "Summary of a trace: its length, config, losses, holes, what is missing, and its "
	 "contents.",
	 MCP_INFO,
	 {TRACE_ARG}},
	{"report",
	 "Answers a question about a trace with tables. overview: one screen; cpu: who used the "
	 "CPUs; sched: ran, runnable, blocked; latency: waits for a CPU; why: why a thread did not "
	 "run; waits: what threads waited for, by reason and function; wakeups: who wakes whom; "
	 "functions: samples; syscalls; io: disk requests; irq; timers; mem; net; counters; "
	 "slices; "
	 "neighbours: who slowed a container; loss: what is missing.",
	 MCP_REPORT,
	 {TRACE_ARG,
	  {"name", "the report; default: overview", MCP_TEXT, false, NULL},
	  {"who",
	   "only these processes or threads: 12,34 or names with * and ?; why and neighbours need "
	   "it",
	   MCP_TEXT, false, NULL},
	  WINDOW_ARGS,
	  {"by", "rows by cpu, thread, process, program, container, unit, path ...", MCP_TEXT,
	   false, "--by="},
	  {"top", "at most this many rows per table; default 20", MCP_NUMBER, false, "--top="}}},
	{"findings",
	 "Checks a trace for known problems. Returns the problems found, each with evidence and "
	 "the command that shows more; the problems not found; and the checks that were not "
	 "possible because their data was not recorded. Call this first for any trace.",
	 MCP_FINDINGS,
	 {TRACE_ARG, WHO_ARG, WINDOW_ARGS}},
	{"sql",
	 "Runs a SELECT on a trace with trace_processor's tables: sched, thread_state, thread, "
	 "process, slice, counter, ftrace_event, args, stats ... It is read-only and has a time "
	 "limit. Use LIMIT.",
	 MCP_SQL,
	 {TRACE_ARG,
	  {"statement", "SQL in SQLite's dialect; times are in ns", MCP_TEXT, true, NULL}}},
	{"diff",
	 "Compares recordings of the same load: what became slower or faster, with confidence "
	 "intervals.",
	 MCP_DIFF,
	 {{"before", "one trace or several repetitions", MCP_TRACES, true, NULL},
	  {"after", "one trace or several repetitions", MCP_TRACES, true, NULL},
	  {"per", "run, second, or the name of a slice or system call", MCP_TEXT, false, "--per="},
	  WHO_ARG}},
	{"more",
	 "The next part of an earlier answer.",
	 MCP_MORE,
	 {{"handle", "the handle at the end of that answer", MCP_TEXT, true, NULL}}},
};

const struct mcp_tool *mcp_tool_at(size_t i)
{
	return i < ARRAY_SIZE(tools) ? &tools[i] : NULL;
}

const struct mcp_tool *mcp_tool_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(tools); i++)
		if (!strcmp(tools[i].name, name))
			return &tools[i];
	return NULL;
}

/* ---- the list ---- */

static void put_member(struct strbuf *b, const char *key, const char *text)
{
	strbuf_printf(b, "\"%s\":", key);
	strbuf_put_json(b, text);
}

static void put_schema(const struct mcp_tool *tool, struct strbuf *b)
{
	bool some = false;

	strbuf_puts(b, "{\"type\":\"object\",\"properties\":{");
	for (const struct mcp_arg *a = tool->args; a->name; a++) {
		bool is_list = a->kind == MCP_TEXTS || a->kind == MCP_TRACES;

		strbuf_printf(b, "%s\"%s\":{\"type\":\"%s\",%s", a == tool->args ? "" : ",",
			      a->name,
			      is_list		      ? "array"
			      : a->kind == MCP_NUMBER ? "integer"
						      : "string",
			      is_list ? "\"items\":{\"type\":\"string\"}," : "");
		put_member(b, "description", a->help);
		strbuf_putc(b, '}');
	}
	strbuf_puts(b, "},\"required\":[");
	for (const struct mcp_arg *a = tool->args; a->name; a++)
		if (a->is_required) {
			strbuf_printf(b, "%s\"%s\"", some ? "," : "", a->name);
			some = true;
		}
	strbuf_puts(b, "],\"additionalProperties\":false}");
}

void mcp_tools_put(bool with_record, struct strbuf *b)
{
	const char *comma = "";

	strbuf_putc(b, '[');
	for (size_t i = 0; i < ARRAY_SIZE(tools); i++) {
		bool records = tools[i].id == MCP_RECORD;

		if (records && !with_record)
			continue;
		strbuf_printf(b, "%s{", comma);
		put_member(b, "name", tools[i].name);
		strbuf_putc(b, ',');
		put_member(b, "description", tools[i].help);
		strbuf_puts(b, ",\"inputSchema\":");
		put_schema(&tools[i], b);
		strbuf_printf(b, ",\"annotations\":{\"readOnlyHint\":%s,\"openWorldHint\":false}}",
			      records ? "false" : "true");
		comma = ",";
	}
	strbuf_putc(b, ']');
}

/* ---- a call ---- */

static int report_no_memory(struct err_text *e)
{
	return err_set(e, -ENOMEM, "out of memory");
}

/* Adds a word of the command line: an option with its value, or a word. */
static int add_command_word(struct mcp_call *c, const char *option, const char *text,
			    struct err_text *e)
{
	struct strbuf b = {0};

	if (c->n + 2 > ARRAY_SIZE(c->argv))
		return err_set(e, -EINVAL, "too many arguments");
	strbuf_puts(&b, option);
	strbuf_puts(&b, text);
	c->argv[c->n] = strbuf_take(&b);
	return c->argv[c->n] ? (c->n++, 0) : report_no_memory(e);
}

static int add_trace(struct mcp_call *c, const char *name, struct err_text *e)
{
	int r;

	if (c->n_traces == MCP_TRACES_MAX)
		return err_set(e, -EINVAL, "too many traces; the limit is %d", MCP_TRACES_MAX);
	r = add_command_word(c, "", "", e);
	if (r < 0)
		return r;
	c->trace_words[c->n_traces] = c->n - 1;
	c->traces[c->n_traces] = strdup(name);
	return c->traces[c->n_traces++] ? 0 : report_no_memory(e);
}

/* Sets *ret to the text of a JSON string, borrowed from v. Returns 0, or -EINVAL and sets e: for
 * another value, or a text that is empty, longer than MCP_TEXT_MAX or contains a NUL. */
static int get_text(struct json_object *v, const struct mcp_arg *a, const char **ret,
		    struct err_text *e)
{
	size_t len;

	if (!json_object_is_type(v, json_type_string))
		return err_set(e, -EINVAL, "%s must be a string", a->name);
	*ret = json_object_get_string(v);
	len = (size_t)json_object_get_string_len(v);
	if (len > MCP_TEXT_MAX || strlen(*ret) != len)
		return err_set(e, -EINVAL, "%s is too long, or contains a NUL", a->name);
	return len ? 0 : err_set(e, -EINVAL, "%s is empty", a->name);
}

static struct json_object *get_arg(struct json_object *arguments, const char *name)
{
	struct json_object *v = NULL;

	if (arguments)
		json_object_object_get_ex(arguments, name, &v);
	return v;
}

static int check_names(const struct mcp_tool *tool, struct json_object *arguments,
		       struct err_text *e)
{
	if (arguments && !json_object_is_type(arguments, json_type_object))
		return err_set(e, -EINVAL, "arguments must be an object");
	if (arguments) {
		json_object_object_foreach(arguments, key, value)
		{
			const struct mcp_arg *a = tool->args;

			(void)value;
			while (a->name && strcmp(a->name, key) != 0)
				a++;
			if (!a->name)
				return err_set(e, -EINVAL, "%s has no argument '%.80s'", tool->name,
					       key);
		}
	}
	for (const struct mcp_arg *a = tool->args; a->name; a++)
		if (a->is_required && !get_arg(arguments, a->name))
			return err_set(e, -EINVAL, "%s: the argument '%s' is missing", tool->name,
				       a->name);
	return 0;
}

static int get_number(struct json_object *v, const struct mcp_arg *a, unsigned max, unsigned *ret,
		      struct err_text *e)
{
	int64_t n = json_object_is_type(v, json_type_int) ? json_object_get_int64(v) : 0;

	if (n < 1 || n > max)
		return err_set(e, -EINVAL, "%s must be a whole number from 1 to %u", a->name, max);
	*ret = (unsigned)n;
	return 0;
}

static int add_number(struct mcp_call *c, struct json_object *v, const struct mcp_arg *a,
		      struct err_text *e)
{
	char text[16];
	unsigned n = 0;
	int r = get_number(v, a, 1000, &n, e);

	snprintf(text, sizeof(text), "%u", n);
	return r ?: add_command_word(c, a->option, text, e);
}

/* Adds the texts of a list, or a single one. */
static int add_texts(struct mcp_call *c, struct json_object *v, const struct mcp_arg *a,
		     struct err_text *e)
{
	bool is_list = json_object_is_type(v, json_type_array);
	size_t n = is_list ? json_object_array_length(v) : 1;
	int r = 0;

	if (!n || n > MCP_TEXTS_MAX)
		return err_set(e, -EINVAL, "%s must contain 1 to %d strings", a->name,
			       MCP_TEXTS_MAX);
	for (size_t i = 0; i < n && r == 0; i++) {
		const char *text;

		r = get_text(is_list ? json_object_array_get_idx(v, i) : v, a, &text, e);
		if (r == 0)
			r = a->kind == MCP_TRACES ? add_trace(c, text, e)
						  : add_command_word(c, "", text, e);
	}
	return r;
}

/* Adds the arguments that become options: those first, since no word that follows "--" is one. */
static int add_options(struct mcp_call *c, const struct mcp_tool *tool,
		       struct json_object *arguments, struct err_text *e)
{
	int r = 0;

	for (const struct mcp_arg *a = tool->args; a->name && r == 0; a++) {
		struct json_object *v = a->option ? get_arg(arguments, a->name) : NULL;
		const char *text;

		if (!v)
			continue;
		if (a->kind == MCP_NUMBER)
			r = add_number(c, v, a, e);
		else
			r = get_text(v, a, &text, e) ?: add_command_word(c, a->option, text, e);
	}
	return r;
}

/* Adds the argument of this name, if it is given: as traces, as words, or as a word that `option`
 * precedes. */
static int add_optional_argument(struct mcp_call *c, const struct mcp_tool *tool,
				 struct json_object *arguments, const char *name,
				 const char *option, struct err_text *e)
{
	struct json_object *v = get_arg(arguments, name);
	const struct mcp_arg *a = tool->args;
	const char *text;

	while (strcmp(a->name, name) != 0)
		a++;
	if (!v)
		return 0;
	if (a->kind == MCP_TEXTS || a->kind == MCP_TRACES)
		return add_texts(c, v, a, e);
	return get_text(v, a, &text, e)
		       ?: a->kind == MCP_TRACE ? add_trace(c, text, e)
					       : add_command_word(c, option, text, e);
}

static int add_text_argument(struct mcp_call *c, const struct mcp_arg *a, struct json_object *v,
			     struct err_text *e)
{
	const char *text;
	int r = get_text(v, a, &text, e);

	if (r < 0)
		return r;
	c->text = strdup(text);
	return c->text ? 0 : report_no_memory(e);
}

/* Checks that the words from index `words` on are names and patterns of events and presets, not
 * options or paths, and that name is a plain file name. */
static int check_record_words(const struct mcp_call *c, size_t words, const char *name,
			      struct err_text *e)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";

	if (name[strspn(name, letters)] || !strcmp(name, "-") || name[0] == '.' || name[0] == '-' ||
	    strlen(name) > 200)
		return err_set(e, -EINVAL,
			       "name may contain only letters, digits, '.', '_' and '-'");
	for (size_t i = words; i < c->n; i++)
		if (strspn(c->argv[i], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				       "0123456789_:*?!.-") != strlen(c->argv[i]) ||
		    c->argv[i][0] == '-')
			return err_set(e, -EINVAL,
				       "'%.80s' is not the name of an event or a preset",
				       c->argv[i]);
	return 0;
}

static int make_record_call(struct mcp_call *c, const struct mcp_tool *tool,
			    struct json_object *arguments, const struct mcp_limits *limits,
			    struct err_text *e)
{
	struct json_object *seconds = get_arg(arguments, "seconds");
	const char *name = NULL;
	char time[32];
	size_t words;
	int r;

	c->seconds = 5;
	r = add_command_word(c, "", "--json", e) ?: add_command_word(c, "", "--quiet", e);
	if (r == 0 && seconds)
		r = get_number(seconds, &tool->args[2], limits->record_seconds, &c->seconds, e);
	snprintf(time, sizeof(time), "--time=%us", c->seconds);
	r = r ?: add_command_word(c, time, "", e) ?: add_options(c, tool, arguments, e);
	words = c->n;
	r = r ?: add_optional_argument(c, tool, arguments, "words", "", e);
	r = r ?: get_text(get_arg(arguments, "name"), &tool->args[1], &name, e);
	return r ?: check_record_words(c, words, name, e);
}

static int make_report_call(struct mcp_call *c, const struct mcp_tool *tool,
			    struct json_object *arguments, struct err_text *e)
{
	struct json_object *v = get_arg(arguments, "name");
	const char *name = v && json_object_is_type(v, json_type_string) ? json_object_get_string(v)
									 : "overview";
	/* The subject of neighbours is a word, threads of other reports are an option. */
	bool is_word = !strcmp(name, "neighbours");
	int r = add_options(c, tool, arguments, e);

	if (!is_word)
		r = r ?: add_optional_argument(c, tool, arguments, "who", "--pid=", e);
	r = r ?: add_command_word(c, "", "--", e);
	/* Without a report's name here, the file that follows could be taken for one. */
	r = r
		    ?: v ? add_optional_argument(c, tool, arguments, "name", "", e)
			 : add_command_word(c, "", name, e);
	if (is_word)
		r = r ?: add_optional_argument(c, tool, arguments, "who", "", e);
	return r ?: add_optional_argument(c, tool, arguments, "trace", "", e);
}

static int make_tool_call(struct mcp_call *c, const struct mcp_tool *tool,
			  struct json_object *arguments, const struct mcp_limits *limits,
			  struct err_text *e)
{
	int r;

	switch (tool->id) {
	case MCP_LIST:
		if (get_arg(arguments, "kind"))
			r = add_text_argument(c, &tool->args[0], get_arg(arguments, "kind"), e);
		else
			r = (c->text = strdup("traces")) ? 0 : report_no_memory(e);
		return r ?: add_command_word(c, "", "--json", e) ?: add_command_word(c, "", "--", e)
			?: add_command_word(c, "", c->text, e)
			?: add_optional_argument(c, tool, arguments, "pattern", "", e);
	case MCP_DESCRIBE:
		return add_command_word(c, "", "--json", e) ?: add_command_word(c, "", "--", e)
			?: add_optional_argument(c, tool, arguments, "word", "", e);
	case MCP_DOCTOR:
		return add_command_word(c, "", "--json", e) ?: add_command_word(c, "", "--", e)
			?: add_optional_argument(c, tool, arguments, "checks", "", e);
	case MCP_RECORD:
		return make_record_call(c, tool, arguments, limits, e);
	case MCP_INFO:
		return add_command_word(c, "", "--json", e) ?: add_command_word(c, "", "--", e)
			?: add_optional_argument(c, tool, arguments, "trace", "", e);
	case MCP_REPORT:
		return add_command_word(c, "", "--json=keys", e)
			?: add_command_word(c, "--memory=", limits->memory, e)
			?: make_report_call(c, tool, arguments, e);
	case MCP_FINDINGS:
		return add_command_word(c, "", "--json=keys", e)
			?: add_command_word(c, "--memory=", limits->memory, e)
			?: add_options(c, tool, arguments, e) ?: add_command_word(c, "", "--", e)
			?: add_command_word(c, "", "findings", e)
			?: add_optional_argument(c, tool, arguments, "trace", "", e);
	case MCP_SQL:
		return add_command_word(c, "", "--json", e) ?: add_command_word(c, "", "--read-only", e)
			?: add_command_word(c, "--memory=", limits->memory, e) ?: add_command_word(c, "", "--", e)
			?: add_optional_argument(c, tool, arguments, "trace", "", e)
			?: add_optional_argument(c, tool, arguments, "statement", "", e);
	case MCP_DIFF:
		return add_command_word(c, "", "--json", e) ?: add_command_word(c, "--memory=", limits->memory, e)
			?: add_options(c, tool, arguments, e)
			?: add_optional_argument(c, tool, arguments, "before", "", e)
			?: add_command_word(c, "", "--", e)
			?: add_optional_argument(c, tool, arguments, "after", "", e);
	case MCP_MORE:
		return add_text_argument(c, &tool->args[0], get_arg(arguments, "handle"), e);
	}
	return -EINVAL;
}

int mcp_call_init(struct mcp_call *c, const struct mcp_tool *tool, struct json_object *arguments,
		  const struct mcp_limits *limits, struct err_text *e)
{
	int r;

	*c = (struct mcp_call){.n = 0};
	r = check_names(tool, arguments, e);
	r = r ?: add_command_word(c, "", "sonda", e);
	r = r ?: add_command_word(c, "", tool->id == MCP_FINDINGS ? "report" : tool->name, e);
	return r ?: make_tool_call(c, tool, arguments, limits, e);
}

void mcp_call_deinit(struct mcp_call *c)
{
	for (size_t i = 0; i < c->n; i++)
		free(c->argv[i]);
	for (size_t i = 0; i < c->n_traces; i++)
		free(c->traces[i]);
	free(c->text);
	*c = (struct mcp_call){.n = 0};
}
