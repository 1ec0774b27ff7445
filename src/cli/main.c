/* SPDX-License-Identifier: Apache-2.0 */
/* sonda VERB ...: finds the verb in the table and passes it the remaining arguments. */

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/core/version.h"
#include "base/system/fs.h"
#include "base/system/log.h"
#include "base/text/str.h"
#include "cli/terminal/help.h"
#include "cli/terminal/verb.h"

struct verb {
	const char *name;
	int (*main)(int argc, char **argv);
	const char *help;
};

static int cmd_help(int argc, char **argv);
static int cmd_version(int argc, char **argv);

/* A row without a function is the heading of the rows below it. */
static const struct verb verbs[] = {
	{"Record", NULL, NULL},
	{"record", cmd_record, "record kernel activity into a trace file"},
	{"top", cmd_top, "live view of processes, refreshed every second"},
	{"list", cmd_list, "list events, presets, data sources: what can be recorded here"},
	{"describe", cmd_describe, "show everything about an event, a preset, a data source ..."},
	{"doctor", cmd_doctor, "check what a recording needs on this machine"},
	{"Read a trace", NULL, NULL},
	{"report", cmd_report, "answer common questions about a trace"},
	{"diff", cmd_diff, "compare recordings: what became slower or faster"},
	{"sql", cmd_sql, "run SQL on a trace"},
	{"info", cmd_info, "show the summary of a trace file"},
	{"open", cmd_open, "open a trace in the Perfetto UI, in your browser"},
	{"mcp", cmd_mcp, "serve traces to language-model clients (MCP)"},
	{"Change a trace", NULL, NULL},
	{"export", cmd_export, "write a trace as JSON, CSV, SQLite or folded stacks"},
	{"import", cmd_import, "convert a trace-cmd or perf recording into a trace"},
	{"cut", cmd_cut, "write part of a trace"},
	{"split", cmd_split, "split a trace into several files"},
	{"merge", cmd_merge, "merge the traces of several machines into one"},
	{"symbolize", cmd_symbolize, "add source lines and inlined functions to call stacks"},
	{"Keep recording", NULL, NULL},
	{"recorder", cmd_recorder, "record continuously into a ring on disk"},
	{"snapshot", cmd_snapshot, "write the current contents of a running session to a file"},
	{"trigger", cmd_trigger, "start, stop or snapshot the sessions waiting for a trigger"},
	{"metrics", cmd_metrics, "serve this machine's counters to Prometheus"},
	{"ship", cmd_ship, "upload traces and their tables to an object store"},
	{"The tracing service", NULL, NULL},
	{"status", cmd_status,
	 "show the state of the tracing service: sessions, producers, data sources"},
	{"sessions", cmd_sessions, "list the sessions of the tracing service"},
	{"attach", cmd_attach, "attach to a detached session until it ends"},
	{"stop", cmd_stop, "end a detached session and write its trace"},
	{"This program", NULL, NULL},
	{"help", cmd_help, "show this list, or the options of a verb: sonda help record"},
	{"version", cmd_version, "show the version"},
};

static const struct verb *find_verb(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
		if (verbs[i].main && !strcmp(verbs[i].name, name))
			return &verbs[i];
	return NULL;
}

/* Appends the list of all verbs. */
static void put_verbs(struct strbuf *text)
{
	strbuf_puts(text, "usage: sonda VERB [OPTION]...\n");
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
		if (verbs[i].main)
			strbuf_printf(text, "  %-9s  %s\n", verbs[i].name, verbs[i].help);
		else
			strbuf_printf(text, "\n%s:\n", verbs[i].name);
}

static int report_unknown_verb(const char *name)
{
	struct str_nearest nearest;

	if (name[0] == '-') {
		log_error("unknown option %s; a verb comes first: see sonda help", name);
		return EXIT_USAGE;
	}
	str_nearest_init(&nearest, name);
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
		if (verbs[i].main)
			str_nearest_try(&nearest, verbs[i].name);
	if (str_nearest_get(&nearest))
		log_error("unknown verb '%s'; did you mean %s?", name, str_nearest_get(&nearest));
	else
		log_error("unknown verb '%s'; see sonda help", name);
	return EXIT_USAGE;
}

static int cmd_help(int argc, char **argv)
{
	char *args[] = {argc > 1 ? argv[1] : NULL, (char *)"--help", NULL};
	struct strbuf text = {0};
	const struct verb *v;

	if (argc < 2 || !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		put_verbs(&text);
		help_print(text.s ? text.s : "");
		strbuf_deinit(&text);
		return EXIT_GOOD;
	}
	v = find_verb(argv[1]);
	if (!v)
		return report_unknown_verb(argv[1]);
	if (v->main != cmd_help && v->main != cmd_version)
		return v->main(2, args);
	printf("sonda %s: %s\n", v->name, v->help);
	return EXIT_GOOD;
}

static int cmd_version(int argc, char **argv)
{
	puts("sonda " SONDA_VERSION);
	return EXIT_GOOD;
}

/* Returns true if the program was started as "perfetto". With a link of this name, scripts for
 * Perfetto's command line continue to work. */
static bool is_called_perfetto(const char *program)
{
	const char *slash = program ? strrchr(program, '/') : NULL;

	return program && !strcmp(slash ? slash + 1 : program, "perfetto");
}

static int run_command_line(int argc, char **argv)
{
	struct strbuf text = {0};
	const struct verb *v;

	if (argc < 2) {
		put_verbs(&text);
		fputs(text.s ? text.s : "", stderr);
		strbuf_deinit(&text);
		return EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
		return cmd_help(1, argv + 1);
	if (!strcmp(argv[1], "--version"))
		return cmd_version(1, argv + 1);
	v = find_verb(argv[1]);
	return v ? v->main(argc - 1, argv + 1) : report_unknown_verb(argv[1]);
}

/* Flushes the output of the verb, because only the last write may show that a disk is full. */
int main(int argc, char **argv)
{
	int code;

	fs_occupy_standard_descriptors();
	if (is_called_perfetto(argv[0]))
		return perfetto_main(argc, argv);
	log_init("sonda");
	code = run_command_line(argc, argv);
	if (fflush(stdout) != 0)
		log_error("cannot write to standard output: %s", strerror(errno));
	else if (ferror(stdout))
		log_error("the output is incomplete: a write to standard output failed");
	else
		return code;
	return code ? code : EXIT_FAILED;
}
