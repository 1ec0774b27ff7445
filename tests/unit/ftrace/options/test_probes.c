// SPDX-License-Identifier: Apache-2.0
/* Plain files take every command; what the kernel makes of them is in tests/root. */

#include "config/text.h"
#include "unit/ftrace/fake_tracefs.h"
#include "ftrace/options/probes.h"

static struct dynevents made;
static struct setup_errors errors;

static void make(const char *text)
{
	struct setup s = {.root = fake_root, .errors = &errors, .for_root = true};
	Pb__FtraceConfig *config = NULL;
	struct strbuf syntax = {0};

	dynevents_destroy(&made);
	setup_errors_deinit(&errors);
	fake_text("kprobe_events", "");
	fake_text("uprobe_events", "");
	assert_int_equal(text_parse(&pb__ftrace_config__descriptor, "test", text, strlen(text),
				    &syntax, (ProtobufCMessage **)&config),
			 0);
	s.config = config;
	assert_int_equal(probes_make(&s, &made), 0);
	pb__ftrace_config__free_unpacked(config, NULL);
	strbuf_deinit(&syntax);
}

/* The n-th, made by a command that ends so. */
static void check(size_t n, enum dynevent_type file, const char *group, const char *name,
		  enum event_represented_as as, const char *type, const char *end)
{
	const struct dynevent *e = made.events[n];
	char command[512];

	assert_true(made.n > n);
	assert_int_equal(e->type, file);
	assert_string_equal(e->repr.group, group);
	assert_string_equal(e->repr.name, name);
	assert_int_equal(e->repr.as, as);
	snprintf(command, sizeof(command), "%s:%s/%s %s", type, e->group, e->name, end);
	assert_non_null(strstr(fake_read(dynevent_file_name(file)), command));
}

SETUP
{
	fake_root_new();
}

TEARDOWN
{
	dynevents_destroy(&made);
	setup_errors_deinit(&errors);
	fake_root_remove();
}

FIXTURE_TEST(test_functions_by_name)
{
	make("kprobe_events { probe: 'vfs_read' type: KPROBE_TYPE_KPROBE }"
	     "kprobe_events { probe: 'vfs_read' type: KPROBE_TYPE_BOTH }"
	     "kprobe_events { probe: 'vfs_write' type: KPROBE_TYPE_KRETPROBE }");
	assert_int_equal(made.n, 4);
	check(0, DYNEVENT_KPROBE, "kprobes", "vfs_read", EVENT_AS_PROBE_INSTANT, "p", "vfs_read");
	check(1, DYNEVENT_KPROBE, "kprobes", "vfs_read", EVENT_AS_PROBE_BEGIN, "p", "vfs_read");
	check(2, DYNEVENT_KPROBE, "kprobes", "vfs_read", EVENT_AS_PROBE_END, "r1024", "vfs_read");
	check(3, DYNEVENT_KPROBE, "kprobes", "vfs_write", EVENT_AS_PROBE_INSTANT, "r1024",
	      "vfs_write");
	/* One event each in tracefs. */
	for (unsigned i = 1; i < 3; i++)
		assert_string_not_equal(made.events[0]->group, made.events[i]->group);
	assert_string_not_equal(made.events[1]->group, made.events[2]->group);
	assert_string_equal(made.events[0]->name, "vfs_read");
	assert_null(errors.failed);
}

FIXTURE_TEST(test_lines)
{
	make("kprobe_events { definition: 'p:mine/a vfs_read count=%dx' }"
	     "kprobe_events { definition: 'p:other/a vfs_write' }"
	     "kprobe_events { definition: 'p:mine/b   vfs_open' }"
	     "kprobe_events { definition: 'p:mine/a vfs_readv count=%dx' }"
	     "uprobe_events: 'p:mine/a /bin/true:0x40 x=%di'"
	     "uprobe_events: 'r /bin/true:0x40'");
	assert_int_equal(made.n, 5);
	check(0, DYNEVENT_KPROBE, "mine", "a", EVENT_AS_FIELDS, "p", "vfs_read count=%dx");
	check(0, DYNEVENT_KPROBE, "mine", "a", EVENT_AS_FIELDS, "p", "vfs_readv count=%dx");
	check(1, DYNEVENT_KPROBE, "other", "a", EVENT_AS_FIELDS, "p", "vfs_write");
	check(2, DYNEVENT_KPROBE, "mine", "b", EVENT_AS_FIELDS, "p", "vfs_open");
	check(3, DYNEVENT_UPROBE, "mine", "a", EVENT_AS_FIELDS, "p", "/bin/true:0x40 x=%di");
	check(4, DYNEVENT_UPROBE, "uprobes", "r_true_0x40", EVENT_AS_FIELDS, "r", "/bin/true:0x40");
	/* A group of the user's is one of ours, in each of the files. */
	assert_string_equal(made.events[0]->group, made.events[2]->group);
	assert_string_not_equal(made.events[0]->group, made.events[1]->group);
	assert_string_not_equal(made.events[0]->group, made.events[3]->group);
	assert_null(errors.failed);
}

FIXTURE_TEST(test_what_cannot_be_is_reported_and_the_rest_made)
{
	static const char *const configs[][2] = {
		{"kprobe_events { probe: 'vfs read' type: KPROBE_TYPE_KPROBE }", "'vfs read'"},
		{"kprobe_events { probe: 'a/b' type: KPROBE_TYPE_BOTH }", "'a/b'"},
		{"kprobe_events { probe: 'vfs_read' }", "type"},
		{"kprobe_events { }", "neither probe nor definition"},
		{"kprobe_events { probe: 'x' definition: 'p x' }", "both"},
		{"kprobe_events { definition: '-:kprobes/x' }", "removes"},
		{"kprobe_events { definition: 'p:x-y z' }", "'x-y'"},
		{"uprobe_events: ''", "empty"},
		{"uprobe_events: 'p:x'", "no place"},
		{"uprobe_events: 'p:x /bin/true:0x40\\n-:y'", "one line"},
	};
	char text[512];

	for (unsigned i = 0; i < ARRAY_SIZE(configs); i++) {
		snprintf(text, sizeof(text), "%s uprobe_events: 'p:good /bin/true:0x40'",
			 configs[i][0]);
		make(text);
		assert_int_equal(made.n, 1);
		assert_string_equal(made.events[0]->repr.name, "good");
		assert_int_equal(tracefs_list_size(errors.failed), 1);
		assert_non_null(strstr(errors.failed[0], configs[i][1]));
		assert_memory_equal(errors.failed[0], "option:", 7);
	}
}

FIXTURE_TEST(test_more_than_count)
{
	struct strbuf text = {0};

	for (unsigned i = 0; i < 1000; i++)
		strbuf_printf(&text, "uprobe_events: 'p:p%u /bin/true:0x40'\n", i);
	make(text.s);
	strbuf_deinit(&text);
	assert_int_equal(made.n, PROBES_MAX);
	assert_int_equal(tracefs_list_size(errors.failed), 1);
	assert_string_equal(
		errors.failed[0],
		"option:uprobe_events (the config has 1000 probes, only the first 256 are used)");
}

/* What probe_spec_check_plain allows is made, and the rest is told as missing. */
FIXTURE_TEST(test_a_consumer_that_is_not_root)
{
	struct setup s = {.root = fake_root, .errors = &errors};
	Pb__FtraceConfig config = PB__FTRACE_CONFIG__INIT;
	Pb__FtraceConfig__KprobeEvent good = PB__FTRACE_CONFIG__KPROBE_EVENT__INIT,
				      bad = PB__FTRACE_CONFIG__KPROBE_EVENT__INIT;
	Pb__FtraceConfig__KprobeEvent *kprobes[] = {&good, &bad};
	char *lines[] = {"p:a /bin/true:0x40(0x10)"};

	dynevents_destroy(&made);
	setup_errors_deinit(&errors);
	fake_text("kprobe_events", "");
	fake_text("uprobe_events", "");
	good.definition = "p:mine/a vfs_read n=$arg3";
	bad.definition = "p:mine/b vfs_read secret=@0xffffffff81000000:x64";
	config.n_kprobe_events = 2;
	config.kprobe_events = kprobes;
	config.n_uprobe_events = 1;
	config.uprobe_events = lines;
	s.config = &config;
	assert_int_equal(probes_make(&s, &made), 0);
	assert_int_equal(made.n, 1);
	check(0, DYNEVENT_KPROBE, "mine", "a", EVENT_AS_FIELDS, "p", "vfs_read n=$arg3");
	assert_int_equal(tracefs_list_size(errors.failed), 2);
	assert_non_null(strstr(errors.failed[0], "only root may use 'secret=@"));
	assert_non_null(strstr(errors.failed[1], "only root may probe programs"));
}

FIXTURE_TEST(test_a_kernel_without_probes)
{
	struct setup s = {.root = fake_root, .errors = &errors, .for_root = true};
	Pb__FtraceConfig config = PB__FTRACE_CONFIG__INIT;
	char *lines[] = {"p:a /bin/true:0x40", "p:b /bin/true:0x40"};

	dynevents_destroy(&made);
	setup_errors_deinit(&errors);
	unlink(fake_path("uprobe_events"));
	s.config = &config;
	assert_int_equal(probes_make(&s, &made), 0);
	assert_null(errors.failed);
	config.n_uprobe_events = 2;
	config.uprobe_events = lines;
	assert_int_equal(probes_make(&s, &made), 0);
	assert_int_equal(tracefs_list_size(errors.failed), 1);
	assert_string_equal(errors.failed[0],
			    "option:uprobe_events (the kernel has no uprobe_events)");
}

/* The kernel's words are about our command, and told about the user's line. */
FIXTURE_TEST(test_a_command_that_the_kernel_refuses)
{
	struct setup s = {.root = fake_root, .errors = &errors, .for_root = true};
	Pb__FtraceConfig config = PB__FTRACE_CONFIG__INIT;
	char *lines[] = {"p:a /bin/true:0x40"};

	dynevents_destroy(&made);
	setup_errors_deinit(&errors);
	unlink(fake_path("uprobe_events"));
	fake_mkdirs(fake_path("uprobe_events/"));
	s.config = &config;
	config.n_uprobe_events = 1;
	config.uprobe_events = lines;
	assert_int_equal(probes_make(&s, &made), 0);
	assert_int_equal(made.n, 0);
	assert_string_equal(errors.failed[0],
			    "option:uprobe_events (Is a directory: p:a /bin/true:0x40)");
}
