/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sonda list: what can be recorded here, by kind. sonda describe: everything about one of these. A
 * word may mean several things: "power" is a preset and a group of events.
 */
#include <errno.h>
#include <string.h>

#include "base/system/log.h"
#include "cli/doctor/doctor.h"
#include "cli/list/list.h"
#include "cli/terminal/suggestions.h"
#include "cli/terminal/verb.h"
#include "cli/trace/session_client.h"

static const struct list_kind list_kinds[] = {
	{"event", "events", "kernel events (--fields adds their fields)", list_events},
	{"group", "groups", "event groups", list_groups},
	{"preset", "presets", "named sets of events and counters", list_presets},
	{"source", "sources", "data sources for configs, with their options", list_sources},
	{"family", "families", "counters that eBPF programs keep in the kernel", list_families},
	{"category", "categories", "track-event categories of running programs", list_categories},
	{"function", "functions", "kernel functions, for --kprobe and --function-graph",
	 list_functions},
	{"static probe", "usdt", "a program's static probes, for --usdt: usdt PROGRAM", list_usdt},
	{0},
};

bool list_matches_pattern(const struct list *l, const char *pattern, const char *name)
{
	if (!pattern)
		return true;
	return l->exact ? !strcmp(pattern, name) : str_glob(pattern, name);
}

int list_load_events(struct list *l, struct err_text *e)
{
	const char *root;

	if (!l->events_read) {
		l->events_read = true;
		root = tracefs_events_root(tracefs_roots);
		l->events_error = root ? tracefs_events_load(root, &l->events) : -EACCES;
	}
	if (l->events_error && doctor_explain("tracefs", true, NULL, NULL, e))
		return l->events_error;
	if (l->events_error)
		return err_set(e, l->events_error,
			       "cannot read the kernel's list of events (available_events in "
			       "tracefs): %s; "
			       "run: sudo sonda list",
			       strerror(-l->events_error));
	return 0;
}

const Pb__TracingServiceState *list_service_state(struct list *l)
{
	struct session_client *client;

	if (l->state_asked)
		return l->state;
	l->state_asked = true;
	if (session_client_open(l->socket, &client, &l->no_service))
		return NULL;
	if (session_client_query(client, false, &l->state, &l->no_service))
		l->state = NULL;
	session_client_free(client);
	return l->state;
}

static const char list_usage[] =
	"usage: sonda list [OPTION]... [KIND] [PATTERN]...\n"
	"\n"
	"Lists what can be recorded on this machine. Without KIND, lists the kinds. With only a\n"
	"PATTERN, lists everything that matches it.\n"
	"\n"
	"Kinds:\n"
	"  events                 kernel events\n"
	"  groups                 event groups\n"
	"  presets                named sets of events and counters, and what they expand to "
	"here\n"
	"  sources                data sources for configs, with the names of their options\n"
	"  families               counters that eBPF programs keep in the kernel\n"
	"  categories             track-event categories of running programs\n"
	"  functions              kernel functions, for --kprobe and --function-graph;\n"
	"                         'functions PROGRAM:' (with the colon) lists a program's "
	"functions,\n"
	"                         for --uprobe\n"
	"  usdt                   'usdt PROGRAM' lists a program's static probes, for --usdt\n"
	"\n"
	"Patterns may contain '*', '?' and '[]': sonda list events 'sched:*'.\n"
	"\n"
	"      --fields           show each event's fields and the kernel's print format\n"
	"      --json             print one JSON array\n"
	"      --socket ADDRESS   address of the service's consumer socket\n"
	"  -h, --help             print this help\n"
	"\n"
	"Exit codes: 0 success, 1 nothing matches or a list cannot be read, 2 usage error.\n";

static const char describe_usage[] =
	"usage: sonda describe [OPTION]... WORD...\n"
	"\n"
	"Shows everything about an event, a group, a preset, a data source, an eBPF family, a\n"
	"track-event category or a kernel function, with an example.\n"
	"\n"
	"      --json             print one JSON array\n"
	"      --socket ADDRESS   address of the service's consumer socket\n"
	"  -h, --help             print this help\n"
	"\n"
	"Exit codes: 0 success, 1 no match, 2 usage error.\n";

static const struct list_kind *find_list_kind(const char *name)
{
	for (const struct list_kind *k = list_kinds; k->name; k++)
		if (!strcmp(k->name, name) || !strcmp(k->names, name))
			return k;
	return NULL;
}

static int list_init(struct list *l, const struct verb_options *o)
{
	l->socket = o->socket;
	l->out.json = o->json;
	l->presets = presets_new(NULL);
	if (!l->presets)
		log_error("out of memory");
	return l->presets ? 0 : -ENOMEM;
}

static int list_finish(struct list *l, int code)
{
	int r = list_out_end(&l->out);

	if (r && r != -EPIPE) {
		log_error("cannot write to standard output: %s", strerror(-r));
		code = EXIT_FAILED;
	}
	presets_free(l->presets);
	tracefs_events_deinit(&l->events);
	if (l->state)
		pb__tracing_service_state__free_unpacked(l->state, NULL);
	return code;
}

/* ---- list ---- */

static void list_names_of_kinds(struct list *l)
{
	for (const struct list_kind *k = list_kinds; k->name; k++)
		list_out_begin_item(&l->out, "kind", k->names, k->help);
}

static int list_report_error(const struct err_text *e)
{
	log_error("%s", e->text);
	return EXIT_FAILED;
}

/* Lists the things of one kind that match the patterns; all if n is 0. Returns an exit code. */
static int list_kind(struct list *l, const struct list_kind *kind, char **patterns, size_t n)
{
	struct err_text e;
	size_t before;

	if (!n && kind->put(l, NULL, &e))
		return list_report_error(&e);
	for (size_t i = 0; i < n; i++) {
		before = l->out.n;
		if (kind->put(l, patterns[i], &e))
			return list_report_error(&e);
		if (l->out.n == before) {
			log_error("no %s matches '%.80s'; see sonda list %s", kind->name,
				  patterns[i], kind->names);
			return EXIT_FAILED;
		}
	}
	return EXIT_GOOD;
}

/* Lists the matches of all kinds; functions only if no other kind matches, because there are many.
 * Reports the first kind that cannot be read, except categories: usually no service runs. */
static int list_matches_of_all_kinds(struct list *l, const char *pattern, bool *found)
{
	size_t before = l->out.n;
	struct err_text e, first = {""};
	int r;

	for (const struct list_kind *k = list_kinds; k->name; k++) {
		if (k->put == list_functions && l->out.n > before)
			break;
		r = k->put(l, pattern, &e);
		if (r && r != -ENOTCONN && !first.text[0])
			first = e;
	}
	*found = l->out.n > before;
	if (first.text[0] && !l->error_reported)
		log_error("%s", first.text);
	l->error_reported |= first.text[0] != '\0';
	return EXIT_GOOD;
}

/* Reports that nothing matches the word, and what is similar to it. Returns EXIT_FAILED. */
static int list_report_unknown(struct list *l, const char *word)
{
	char buf[TRACEFS_EVENTS_MAX_NAME];
	const char *nearest =
		suggestions_find(l->events.n ? &l->events : NULL, l->presets, word, buf);
	struct str_nearest kinds;

	str_nearest_init(&kinds, word);
	for (const struct list_kind *k = list_kinds; k->name && !nearest; k++)
		str_nearest_try(&kinds, k->names);
	nearest = nearest ? nearest : str_nearest_get(&kinds);
	if (nearest)
		log_error("no event, preset or data source matches '%.80s'; did you mean %s?", word,
			  nearest);
	else
		log_error("no event, preset or data source matches '%.80s'; see sonda list", word);
	return EXIT_FAILED;
}

static int list_words(struct list *l, char **words, size_t n)
{
	int code = EXIT_GOOD;
	bool found;

	for (size_t i = 0; i < n; i++) {
		list_matches_of_all_kinds(l, words[i], &found);
		if (!found)
			code = l->error_reported ? EXIT_FAILED : list_report_unknown(l, words[i]);
	}
	return code;
}

int cmd_list(int argc, char **argv)
{
	const struct list_kind *kind;
	struct list l = {0};
	struct verb_options o;
	int code = verb_options_parse(argc, argv, "sjf", 0, (size_t)argc, list_usage, &o);

	if (code >= 0)
		return code;
	if (list_init(&l, &o))
		return EXIT_FAILED;
	kind = o.n_words ? find_list_kind(o.words[0]) : NULL;
	l.detail = o.fields ? LIST_ALL : kind ? LIST_CONTENTS : LIST_NAMES;
	l.out.with_kind = o.n_words && !kind;
	code = EXIT_GOOD;
	if (!o.n_words)
		list_names_of_kinds(&l);
	else if (kind)
		code = list_kind(&l, kind, o.words + 1, o.n_words - 1);
	else
		code = list_words(&l, o.words, o.n_words);
	return list_finish(&l, code);
}

/* ---- describe ---- */

int cmd_describe(int argc, char **argv)
{
	struct list l = {.detail = LIST_ALL, .exact = true};
	struct verb_options o;
	int code = verb_options_parse(argc, argv, "sj", 1, (size_t)argc, describe_usage, &o);

	if (code >= 0)
		return code;
	if (list_init(&l, &o))
		return EXIT_FAILED;
	l.out.with_kind = true;
	return list_finish(&l, list_words(&l, o.words, o.n_words));
}
