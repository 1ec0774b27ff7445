/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the options of FtraceConfig write into tracefs, and what they report: the cases of
 * tests/data/ftrace/settings.txt, whose head explains them. A directory stands in for tracefs; what
 * a kernel does with the settings is in tests/root. Each case is a test.
 */
#include <sys/syscall.h>

#include <event2/event.h>

#include "base/event_loop/coroutine.h"
#include "base/system/syscall_names.h"
#include "base/text/str.h"
#include "ftrace/events/ftrace_config.h"
#include "ftrace/options/dynevents.h"
#include "ftrace/options/event_enable.h"
#include "ftrace/options/event_triggers.h"
#include "ftrace/options/function_graph.h"
#include "ftrace/options/instance_options.h"
#include "ftrace/options/probes.h"
#include "ftrace/options/synthetic_events.h"
#include "unit/ftrace/setups.h"

#define CASES "tests/data/ftrace/settings.txt"

/* The session of a case, from its first config on. */
static struct {
	struct ftrace_settings settings;
	struct dynevents made;
	struct event_selection events;
	struct event_table table;
	struct event_triggers triggers;
	struct function_graph graph;
	bool is_user; /* the consumer is not root */
	bool is_set_up;
	int result;
	int n_reports; /* of errors.failed, those that the case has named */
	int n_unknown;
} session;

static char config[1 << 16];

static void end_session(void)
{
	event_triggers_deinit(&session.triggers);
	event_selection_deinit(&session.events);
	event_table_deinit(&session.table);
	function_graph_end(&session.graph);
	dynevents_destroy(&session.made);
	setup_end();
	memset(&session, 0, sizeof(session));
}

/* The steps of ftrace_session.c, for an own instance. */
static int run_steps(void)
{
	struct event_selection *events = &session.events;
	int r = instance_options_set(&setup, fake_path("proc"));

	if (!r)
		r = probes_make(&setup, &session.made);
	if (!r)
		r = dynevents_select(&session.made, events);
	if (!r)
		r = event_enable_select(events, &setup);
	if (!r)
		r = synthetic_events_make(events, &setup, &session.made);
	if (!r)
		r = function_graph_select(events, &setup);
	setup.events = events;
	if (!r)
		r = instance_options_restrict_events(events, &setup);
	if (!r && setup_config->enable_function_graph) {
		setup.functions = event_selection_has(events, "ftrace", "funcgraph_entry") &&
				  !function_graph_set(&session.graph, &setup);
		if (!setup.functions)
			function_graph_deselect(events);
	}
	if (!r)
		r = event_enable_compile(events, &setup, &session.settings.events, &session.table);
	if (!r)
		r = event_enable_all(events, &setup, &session.table);
	return r ? r : event_triggers_prepare(events, &setup, &session.triggers);
}

static void set_up(void)
{
	bool is_user = session.is_user;

	end_session();
	setup_begin(config);
	setup.for_root = !is_user;
	ftrace_settings_read(setup_config, &(struct ftrace_machine){1ull << 33, 4},
			     &session.settings, &errors);
	session.result = run_steps();
	session.is_set_up = true;
	*config = '\0';
}

/* ---- the words of a case ---- */

static const char *case_name;
static int line_number;

#define fail_case(...)                                                                             \
	do {                                                                                       \
		print_error(CASES ":%d (%s): ", line_number, case_name);                           \
		print_error(__VA_ARGS__);                                                          \
		print_error("\n");                                                                 \
		fail();                                                                            \
	} while (0)

/* "x/" stands for the instance. */
static const char *file_name(const char *word)
{
	static char name[512];

	snprintf(name, sizeof(name), "%s%s", str_starts(word, "x/") ? "instances/" : "", word);
	return name;
}

/* Replaces "\n" by a newline, and "NR" by the number of getpid(). */
static void unescape(char *text)
{
	char out[8192], *to = out;

	for (const char *at = text; *at; at++) {
		if (str_starts(at, "\\n") || str_starts(at, "NR")) {
			to += *at == 'N' ? sprintf(to, "%u", SYS_getpid) : sprintf(to, "\n");
			at++;
		} else {
			*to++ = *at;
		}
	}
	*to = '\0';
	strcpy(text, out);
}

/* "...": what stands for it is not compared. */
static bool same(const char *have, const char *want)
{
	const char *dots = strstr(want, "...");

	if (!dots)
		return !strcmp(have, want);
	return !strncmp(have, want, (size_t)(dots - want)) && strstr(have, dots + 3);
}

static void expect_report(char *const *list, int *at, const char *want, const char *which)
{
	const char *have = *at < tracefs_list_size((char **)list) ? list[*at] : "nothing";

	if (!same(have, want))
		fail_case("%s %d is \"%s\"", which, *at, have);
	++*at;
}

/* Each report has to be named by the case. */
static void expect_no_more(void)
{
	if (!session.is_set_up)
		return;
	if (session.n_reports < n_failed())
		fail_case("not expected: %s", errors.failed[session.n_reports]);
	if (session.n_unknown < tracefs_list_size(errors.unknown))
		fail_case("not expected: unknown %s", errors.unknown[session.n_unknown]);
	if (session.result && !errors.fatal)
		fail_case("failed with %d", session.result);
}

static void make_event(char *text)
{
	char fields[2048] = "", *event = strsep(&text, " "), *field, *part[4];
	static unsigned id;
	size_t at = 0;

	while ((field = strsep(&text, ";"))) {
		field += strspn(field, " ");
		for (unsigned i = 0; i < 4; i++)
			part[i] = strsep(&field, ",");
		assert_non_null(part[3]);
		at += (size_t)snprintf(fields + at, sizeof(fields) - at,
				       "\tfield:%s;\toffset:%s;\tsize:%s;\tsigned:%s;\n", part[0],
				       part[1], part[2], part[3]);
	}
	fake_formatted_event(event, 100 + id++ % 1000, at ? fields : FIELD("int a", 8, 4, 1));
}

static const char *kind_of(const struct event_name *e)
{
	const struct compiled_event *ev =
		e && e->id != EVENT_NO_ID ? event_table_get(&session.table, (uint16_t)e->id) : NULL;

	if (!ev)
		return "none";
	return ev->kind == COMPILED_COMPACT_SWITCH || ev->kind == COMPILED_COMPACT_WAKING
		       ? "columns"
	       : ev->kind == COMPILED_SUBJECT_SWITCH || ev->kind == COMPILED_SUBJECT_WAKING
		       ? "subject's"
	       : ev->descriptor_len || ev->kind == COMPILED_LEGACY ? "generic"
								   : "fields";
}

/* "group/name group/name ...", those that are recorded. */
static const char *selected(void)
{
	static char text[4096];
	size_t at = 0;

	*text = '\0';
	for (size_t i = 0; i < session.events.n; i++) {
		const struct event_name *e = &session.events.events[i];

		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s/%s", i ? " " : "",
				       event_name_group(e), event_name_name(e));
	}
	return text;
}

static const char *triggers(void)
{
	static char text[4096];
	size_t at = 0;

	*text = '\0';
	for (unsigned i = 0; i < session.triggers.n; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s %s", i ? "; " : "",
				       session.triggers.list[i].file + strlen("events/"),
				       session.triggers.list[i].command);
	return text;
}

/* The dynamic events as the trace shows them, with how: "mine/a=1". */
static const char *dynamic(void)
{
	static char text[4096];
	size_t at = 0;

	*text = '\0';
	for (size_t i = 0; i < session.made.n; i++) {
		const struct dynevent *e = session.made.events[i];

		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s/%s=%d", i ? " " : "",
				       e->repr.group, e->repr.name, e->repr.as);
	}
	return text;
}

static void expect(const char *have, const char *want)
{
	if (!same(have, want))
		fail_case("it is \"%s\"", have);
}

/* What the files have of the session's own names, with "#" for those. */
static const char *anonymous(const char *text)
{
	static char out[8192];
	char *to = out;

	while (*text) {
		if (str_starts(text, "sonda_")) {
			*to++ = '#';
			text += strspn(text, "sonda_0123456789");
		} else {
			*to++ = *text++;
		}
	}
	*to = '\0';
	return out;
}

static void prepare(const char *word, char *rest)
{
	char *name = strsep(&rest, " ");

	if (!strcmp(word, "file"))
		fake_text(file_name(name), rest ? rest : "");
	else if (!strcmp(word, "refuse"))
		fake_refusal(name);
	else if (!strcmp(word, "no"))
		remove(fake_path(file_name(name)));
	else
		fail_case("unknown word %s", word);
}

static void run_line(char *line)
{
	const char *word = strsep(&line, " ");
	char *rest = line ? line : (char *)"", *name;

	if (!strcmp(word, "config")) {
		expect_no_more();
		session.is_set_up = false;
		strcat(strcat(config, " "), rest);
		return;
	}
	if (!strcmp(word, "user")) {
		session.is_user = true;
		return;
	}
	if (*rest)
		unescape(rest);
	if (!strcmp(word, "event")) {
		make_event(rest);
		return;
	}
	if (!session.is_set_up && strchr("=!?*", *word))
		set_up();
	if (!strcmp(word, "=")) {
		name = strsep(&rest, " ");
		expect(anonymous(fake_read(file_name(name))), rest ? rest : "");
	} else if (!strcmp(word, "!")) {
		expect_report(errors.failed, &session.n_reports, rest, "report");
	} else if (!strcmp(word, "!*")) {
		session.n_reports = n_failed();
	} else if (!strcmp(word, "?")) {
		expect_report(errors.unknown, &session.n_unknown, rest, "unknown event");
	} else if (!strcmp(word, "*fatal")) {
		expect(errors.fatal ? errors.fatal : "", rest);
	} else if (!strcmp(word, "*notice")) {
		expect(errors.notice ? errors.notice : "", rest);
	} else if (!strcmp(word, "*events")) {
		expect(selected(), rest);
	} else if (!strcmp(word, "*triggers")) {
		expect(triggers(), rest);
	} else if (!strcmp(word, "*dynamic")) {
		expect(dynamic(), rest);
	} else if (!strcmp(word, "*kind")) {
		const char *group = strsep(&rest, "/"), *event = strsep(&rest, " ");

		expect(kind_of(event_selection_find(&session.events, group, event)), rest);
	} else if (!strcmp(word, "*start")) {
		int r = event_triggers_start(&session.triggers, &instance, &errors);

		expect(r ? strerror(-r) : "", rest);
	} else if (!strcmp(word, "*stop")) {
		event_triggers_stop_recording(&session.triggers, &instance);
	} else if (!strcmp(word, "*end")) {
		function_graph_end(&session.graph);
		dynevents_destroy(&session.made);
	} else {
		prepare(word, rest);
	}
}

/* ---- the file ---- */

struct settings_case {
	char name[128];
	char *text; /* borrowed: its lines */
	int line;
};

static struct settings_case cases[TESTS_MAX];
static const char *base_text; /* lines that begin every case */

static void run_lines(const char *text, int line)
{
	char *copy = strdup(text), *at = copy, *next;

	for (line_number = line; at; at = next, line_number++) {
		next = strchr(at, '\n');
		if (next)
			*next++ = '\0';
		if (*at && *at != '#')
			run_line(at);
	}
	free(copy);
}

static int begin_case(const char *name)
{
	case_name = name;
	fake_root_new();
	run_lines(base_text, 0);
	return 0;
}

static void run_case(void **state)
{
	const struct settings_case *c = *state;

	begin_case(c->name);
	run_lines(c->text, c->line);
	expect_no_more();
}

static int end_case(void **state)
{
	end_session();
	*config = '\0';
	fake_root_remove();
	return 0;
}

/* A case is a test of its own. */
static __attribute__((constructor)) void read_cases(void)
{
	static char text[1 << 17];
	FILE *f = fopen(CASES, "r");
	int line = 1;
	char *at;

	assert(f);
	text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
	fclose(f);
	for (char *next = text; (at = next); line++) {
		next = strchr(at, '\n');
		if (next)
			next++;
		if (strncmp(at, "case ", 5))
			continue;
		if (at > text)
			at[-1] = '\0';
		struct settings_case *c = &cases[n_all_tests];

		snprintf(c->name, sizeof(c->name), "%.*s", (int)strcspn(at + 5, "\n"), at + 5);
		c->text = next;
		c->line = line + 1;
		all_tests[n_all_tests++] =
			(struct CMUnitTest){c->name, run_case, NULL, end_case, c};
	}
	base_text = strstr(text, "\nbase\n") + strlen("\nbase\n");
}

/* ---- configs that are too long to write down ---- */

static int begin_made(void **state)
{
	return begin_case("made");
}

#define MADE_TEST(name) TEST_WITH(name, begin_made, end_case)

static void add(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void add(const char *fmt, ...)
{
	size_t at = strlen(config);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(config + at, sizeof(config) - at, fmt, ap);
	va_end(ap);
}

MADE_TEST(more_than_1024_filters)
{
	for (unsigned n = 1024; n <= 1025; n++) {
		add("ftrace_events: 'sched_switch' ");
		for (unsigned i = 0; i < n; i++)
			add("event_filters { event: 'sched_switch' filter: '0' }");
		set_up();
		assert_int_equal(session.result, n == 1024 ? 0 : -E2BIG);
	}
	assert_string_equal(errors.fatal,
			    "nothing is recorded: the config contains 1025 event_filters; the "
			    "limit is 1024");
}

MADE_TEST(more_than_256_probes)
{
	fake_text("uprobe_events", "");
	for (unsigned i = 0; i < 1000; i++)
		add("uprobe_events: 'p:p%u /bin/true:0x40' ", i);
	set_up();
	assert_int_equal(session.made.n, PROBES_MAX);
	assert_string_equal(errors.failed[0],
			    "option:uprobe_events (only the first 256 of 1000 probes are used)");
}

/* More than goes into one write; each number is whole. */
MADE_TEST(more_than_9000_threads)
{
	static char want[1 << 16], have[1 << 16];
	size_t at = 0;
	FILE *f;

	fake_text("proc/sys/kernel/pid_max", "4194304\n");
	add("tids_to_trace: [1");
	for (unsigned i = 1; i < 9000; i++) {
		at += (size_t)sprintf(want + at, "%u ", i);
		add(i > 1 ? ",%u" : "", i);
	}
	add("]");
	set_up();
	f = fopen(fake_path("instances/x/set_event_pid"), "r");
	assert_int_equal(fread(have, 1, sizeof(have), f), at);
	fclose(f);
	assert_string_equal(have, want);
}

/* A list that is empty again after each write, as if there were new threads all the time. */
MADE_TEST(threads_that_start_without_end)
{
	fake_text("proc/20/comm", "x");
	fake_text("proc/20/task/20/comm", "x");
	remove(fake_path("instances/x/set_event_pid"));
	assert_int_equal(symlink("/dev/null", fake_path("instances/x/set_event_pid")), 0);
	add("pids_to_trace: 20");
	set_up();
	assert_int_equal(session.result, 0);
	assert_int_equal(n_failed(), 1);
	assert_non_null(strstr(errors.failed[0], "option:pids_to_trace (set_event_pid: threads"));
}

/* A filter for the calls of any list is short enough for the kernel, and has exactly these. */
MADE_TEST(lists_of_system_calls)
{
	make_event((char[]){"raw_syscalls/sys_enter"});
	make_event((char[]){"raw_syscalls/sys_exit"});
	for (unsigned stride = 1; stride <= 4; stride++)
		for (unsigned run = 1; run <= 4; run++) {
			static bool wanted[600], has[600];
			const char *filter;
			unsigned from, to;

			memset(wanted, 0, sizeof(wanted));
			memset(has, 0, sizeof(has));
			for (unsigned nr = 0; nr < 460; nr++) {
				char name[SYSCALL_NAME_MAX];

				syscall_name(NULL, nr, name);
				if (!*name || nr % (stride + run) >= run)
					continue;
				wanted[nr] = true;
				add("syscall_events: '%s' ", name);
			}
			set_up();
			if (n_failed())
				fail_msg("%s", errors.failed[0]);
			filter = fake_written("events/raw_syscalls/sys_enter/filter");
			assert_in_range(strlen(filter), 1, 4095);
			for (; filter; filter = strstr(filter, "|| ")) {
				filter += strspn(filter, "| (");
				if (sscanf(filter, "id >= %u && id <= %u)", &from, &to) != 2) {
					assert_int_equal(sscanf(filter, "id == %u", &from), 1);
					to = from;
				}
				while (from <= to)
					has[from++] = true;
			}
			assert_memory_equal(has, wanted, sizeof(has));
		}
}

static void prepare_when_cancelled(void *ctx)
{
	while (coroutine_yield() == 0)
		;
	*(int *)ctx = event_triggers_prepare(&session.events, &setup, &session.triggers);
}

MADE_TEST(a_setup_that_is_cancelled)
{
	static const struct coroutine_ops ops = {.run = prepare_when_cancelled};
	struct event_base *loop = event_base_new();
	struct coroutine *work;
	int r = 0;

	add("event_triggers { event: 'softirq_entry' action: ACTION_TRACEOFF }");
	set_up();
	event_triggers_deinit(&session.triggers);
	coroutine_start(&work, loop, &ops, &r);
	coroutine_finish(work);
	assert_int_equal(r, -ECANCELED);
	event_base_free(loop);
}
