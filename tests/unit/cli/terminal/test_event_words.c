/* SPDX-License-Identifier: Apache-2.0 */
/* Words in, requests out, both as one line. The kernel's list is that of kernel_events.h. */

#include "base/text/str.h"
#include "cli/terminal/event_patterns.h"
#include "unit/cli/kernel_events.h"
#include "unit/test.h"

static struct strbuf requests, idle; /* of the last call of read_words */
static struct presets *presets; /* those of the program */
static struct err_text why;

static int setup(void **state)
{
	static const char *const no_dirs[] = {NULL};

	presets = presets_new(no_dirs);
	return kernel_events_setup(state);
}

static int teardown(void **state)
{
	presets_free(presets);
	strbuf_deinit(&requests);
	strbuf_deinit(&idle);
	return kernel_events_teardown(state);
}

static void join(const struct event_requests *r, struct strbuf *ret)
{
	strbuf_clear(ret);
	strbuf_puts(ret, "");
	for (size_t i = 0; i < r->n; i++)
		strbuf_printf(ret, "%s%s", i ? " " : "", r->names[i]);
}

/* line: words with single blanks between. */
static int read_words(const char *line, const struct tracefs_events *of_kernel)
{
	struct event_requests r = {0}, i = {0};
	char copy[256];
	const char *words[32];
	size_t n = 0;
	int error;

	snprintf(copy, sizeof(copy), "%s", line);
	for (char *p = copy, *next; p; p = next) {
		next = strchr(p, ' ');
		if (next)
			*next++ = '\0';
		words[n++] = p;
	}
	error = event_patterns_resolve(words, n, of_kernel, presets, &r, &i, &why);
	join(&r, &requests);
	join(&i, &idle);
	event_requests_deinit(&r);
	event_requests_deinit(&i);
	return error;
}

struct sample {
	const char *words, *requests, *idle;
};

static void check(const struct sample *samples, size_t n, const struct tracefs_events *of_kernel)
{
	for (size_t i = 0; i < n; i++) {
		why.text[0] = '\0';
		if (read_words(samples[i].words, of_kernel))
			fail_msg("'%s' was refused: %s", samples[i].words, why.text);
		assert_string_equal(requests.s, samples[i].requests);
		assert_string_equal(idle.s, samples[i].idle ? samples[i].idle : "");
	}
}

#define SCHED                                                                                      \
	"sched/sched_switch sched/sched_waking sched/sched_wakeup_new sched/sched_process_exec "   \
	"sched/sched_process_exit sched/sched_process_fork sched/sched_process_free "              \
	"task/task_newtask task/task_rename"

TEST(test_words_become_requests)
{
	static const struct sample samples[] = {
		{"sched/sched_switch", "sched/sched_switch", NULL},
		{"sched:sched_switch", "sched/sched_switch", NULL},
		{"sched_switch", "sched/sched_switch", NULL},
		{"block_rq_issue sched:sched_switch block:block_rq_issue sched_switch",
		 "block/block_rq_issue sched/sched_switch", NULL},
		/* What the kernel does not list is kept as it is. */
		{"b/2 a/1 b:2", "b/2 a/1", NULL},
		{"nosuch nosuch", "nosuch", NULL},
		{"nosuch/* sched/nosuch_*", "nosuch/* sched/nosuch_*", NULL},
		{"sched", SCHED, NULL},
		{"task/task_rename sched/sched_waking sched",
		 "task/task_rename sched/sched_waking sched/sched_switch sched/sched_wakeup_new "
		 "sched/sched_process_exec sched/sched_process_exit sched/sched_process_fork "
		 "sched/sched_process_free task/task_newtask",
		 NULL},
	};

	check(samples, ARRAY_SIZE(samples), &events);
}

TEST(test_patterns_are_looked_up)
{
	static const struct sample samples[] = {
		{"sched/sched_wak*", "sched/sched_waking sched/sched_wakeup", NULL},
		{"block:*_issue", "block/block_rq_issue", NULL},
		{"*irq_entry", "irq/softirq_entry", NULL},
		{"*irq*", "irq/*", NULL},
		{"soft* irq/softirq_exit", "irq/softirq_entry irq/softirq_exit", NULL},
		{"irq/softirq_e[nx]*", "irq/softirq_entry irq/softirq_exit", NULL},
		{"*/task_renam?", "task/task_rename", NULL},
		{"[bt]*:*r*", "block/* task/task_rename", NULL},
		{"nosuch* *", "nosuch* sched/* irq/* block/* task/task_rename msr/write_msr", NULL},
	};

	check(samples, ARRAY_SIZE(samples), &events);
}

/* As other tools take it, and as Perfetto's command line does. */
TEST(test_words_that_stand_for_several)
{
	static const struct sample samples[] = {
		{"irq", "irq/*", NULL},
		{"task msr", "task/task_rename msr/write_msr", NULL},
		{"block !block_rq_issue", "block/block_rq_complete", NULL},
		{"sched:* irq !irq", "sched/*", NULL},
		{"block,irq", "block/* irq/*", NULL},
		{"idle", "power/cpu_idle", NULL},
		/* A group that the kernel does not have is a name like any other. */
		{"nogroup", "nogroup", NULL},
		{"sonda_12_3456_0", "sonda_12_3456_0", NULL},
	};
	static const struct sample without[] = {
		{"irq", "irq/*", NULL},
		{"task", "task", NULL},
	};

	check(samples, ARRAY_SIZE(samples), &events);
	check(without, ARRAY_SIZE(without), NULL);
}

TEST(test_which_words_are_known)
{
	static char longest[5000];

	assert_true(event_pattern_is_known("sched", &events, presets));
	assert_true(event_pattern_is_known("freq", &events, presets));
	assert_true(event_pattern_is_known("block", &events, presets));
	assert_true(event_pattern_is_known("sched_switch", &events, presets));
	assert_true(event_pattern_is_known("print", &events, presets));
	assert_false(event_pattern_is_known("sleep", &events, presets));
	assert_false(event_pattern_is_known("", &events, presets));
	memset(longest, 'x', sizeof(longest) - 1);
	assert_false(event_pattern_is_known(longest, &events, presets));
}

/* A group is asked for as one only where patterns want all of it: its name was not typed else. */
TEST(test_a_whole_group_is_one_request)
{
	static const struct sample samples[] = {
		{"sched:*", "sched/*", NULL},
		{"block:*", "block/*", NULL},
		{"sched_waking sched:*", "sched/*", NULL},
		{"sched:* sched_waking", "sched/*", NULL},
		{"block_rq_issue block_rq_complete", "block/block_rq_issue block/block_rq_complete",
		 NULL},
		{"sched:*wak* sched:*switch", "sched/*", NULL},
		{"irq_handler_entry sched:* softirq_entry",
		 "irq/irq_handler_entry sched/* irq/softirq_entry", NULL},
	};

	check(samples, ARRAY_SIZE(samples), &events);
}

TEST(test_a_word_with_an_exclamation_mark_takes_away)
{
	static const struct sample samples[] = {
		{"sched:* !sched_waking", "sched/sched_switch sched/sched_wakeup", NULL},
		{"sched:* !sched:sched_wak*", "sched/sched_switch", NULL},
		{"* !sched:* !irq/*", "block/* task/task_rename msr/write_msr", NULL},
		{"* !*irq* !*wak* !*msr", "sched/sched_switch block/* task/task_rename", NULL},
		{"sched !sched:sched_process_* !task_*",
		 "sched/sched_switch sched/sched_waking sched/sched_wakeup_new", NULL},
		{"sched block:* !sched", "block/*", NULL},
		/* Only what came before. */
		{"sched:* !sched:* sched_waking", "sched/sched_waking", NULL},
		{"sched:* !sched_waking sched_waking",
		 "sched/sched_switch sched/sched_wakeup sched/sched_waking", NULL},
		{"sched:* !sched_waking sched:*", "sched/*", NULL},
		/* Of what the kernel does not list, too. */
		{"sched_switch nosuch !nosuch", "sched/sched_switch", NULL},
		{"sched_switch no/such !no:*", "sched/sched_switch", NULL},
		{"sched_switch print !print", "sched/sched_switch", NULL},
		{"sched_switch ftrace/print !print", "sched/sched_switch", NULL},
	};

	check(samples, ARRAY_SIZE(samples), &events);
}

TEST(test_an_exclusion_without_effect_is_returned)
{
	static const struct sample samples[] = {
		{"sched:* !block:*", "sched/*", "!block:*"},
		{"!sched_stat_* sched:*", "sched/*", "!sched_stat_*"},
		{"sched:* !sched_wakin !wakeup !sched_waking",
		 "sched/sched_switch sched/sched_wakeup", "!sched_wakin !wakeup"},
	};

	check(samples, ARRAY_SIZE(samples), &events);
}

TEST(test_nothing_may_be_left)
{
	assert_int_equal(read_words("sched:* !*", &events), -EINVAL);
	assert_string_equal(
		why.text,
		"'!*' excludes all events named before it; name at least one other event");
	assert_int_equal(read_words("!nosuch", &events), -EINVAL);
	assert_int_equal(read_words("nosuch !nosuch", NULL), -EINVAL);
	assert_string_equal(requests.s, "");
}

TEST(test_several_with_commas)
{
	static const struct sample samples[] = {
		{"sched_switch,irq:softirq_entry,no/such block:*",
		 "sched/sched_switch irq/softirq_entry no/such block/*", NULL},
		{"sched,msr:* !sched:sched_process_*,task:task_newtask",
		 "sched/sched_switch sched/sched_waking sched/sched_wakeup_new task/task_rename "
		 "msr/write_msr",
		 NULL},
		{"sched:* !nosuch,sched_switch", "sched/sched_waking sched/sched_wakeup", NULL},
		{"sched:* !nosuch,no:*", "sched/*", "!nosuch,no:*"},
	};

	check(samples, ARRAY_SIZE(samples), &events);
}

TEST(test_events_that_are_always_on)
{
	static const struct sample samples[] = {
		{"print", "ftrace/print", NULL},
		{"ftrace:print print", "ftrace/print", NULL},
	};

	check(samples, ARRAY_SIZE(samples), &events);
}

TEST(test_without_the_kernels_list)
{
	static const struct sample samples[] = {
		{"sched:* *irq* sched_switch a/b*", "sched/* *irq* sched_switch a/b*", NULL},
		{"sched !sched_process_* !task/*",
		 "sched/sched_switch sched/sched_waking sched/sched_wakeup_new", NULL},
		{"a/b a/c !c !d", "a/b", "!d"},
	};

	check(samples, ARRAY_SIZE(samples), NULL);
	/* What a pattern leaves of a pattern is not known. */
	assert_int_equal(read_words("sched:* !sched_stat_*", NULL), -EINVAL);
	assert_non_null(strstr(why.text, "'!sched_stat_*'"));
	assert_non_null(strstr(why.text, "'sched/*'"));
	assert_non_null(strstr(why.text, "available_events"));
	assert_int_equal(read_words("sched:* a/b !sched:*", NULL), 0);
	assert_string_equal(requests.s, "a/b");
}

TEST(test_words_that_cannot_be_events)
{
	static const char *const words[] = {"",	  "/",	 "a/",	  "/b",	      "a/b/c",
					    ":b", "a:",	 "a\tb",  "\xc3\xa4", "a/b\n",
					    "!",  "!a/", "!a/b/c"};
	struct event_requests r = {0}, i = {0};

	for (size_t k = 0; k < ARRAY_SIZE(words); k++) {
		if (event_patterns_resolve(&words[k], 1, &events, presets, &r, &i, &why) != -EINVAL)
			fail_msg("'%s' was accepted", words[k]);
		assert_non_null(strstr(why.text, "is not a valid event name"));
		assert_int_equal(r.n + i.n, 0);
	}
}

TEST(test_commas_without_a_name_between)
{
	assert_int_equal(read_words("sched_switch, ,irq,, !softirq_exit,", &events), 0);
	assert_string_equal(requests.s,
			    "sched/sched_switch irq/softirq_entry irq/irq_handler_entry");
}

/* A preset may have data sources and no events. */
TEST(test_presets_without_events)
{
	assert_int_equal(read_words("vmstat counters", &events), 0);
	assert_string_equal(requests.s, "");
	assert_int_equal(read_words("vmstat irq !runq", &events), 0);
	assert_string_equal(requests.s, "irq/*");
	assert_string_equal(idle.s, "!runq");
	assert_int_equal(read_words("vmstat irq !irq", &events), -EINVAL);
	assert_non_null(strstr(why.text, "name at least one other event"));
	assert_int_equal(read_words("cpu_time,cpu-time", NULL), 0);
	assert_string_equal(requests.s, "");
}

TEST(test_a_list_that_gives_and_takes)
{
	static const char *const words[] = {"sched:*,!sched_stat_*", "!!a"};
	struct event_requests r = {0}, i = {0};

	for (size_t k = 0; k < ARRAY_SIZE(words); k++) {
		assert_int_equal(
			event_patterns_resolve(&words[k], 1, &events, presets, &r, &i, &why),
			-EINVAL);
		assert_non_null(
			strstr(why.text, "excludes events and must be a separate argument"));
	}
}

TEST(test_a_word_of_any_length_is_refused_or_fits)
{
	static char word[1 << 20];

	memset(word, 'x', sizeof(word) - 1);
	for (size_t len = sizeof(word) - 1; len >= TRACEFS_EVENTS_MAX_NAME; len /= 2) {
		struct event_requests r = {0};

		word[len] = '\0';
		assert_int_equal(event_pattern_parse(word, NULL, presets, &r, &why), -EINVAL);
		assert_int_equal(r.n, 0);
	}
	word[TRACEFS_EVENTS_MAX_NAME] = '\0';
	for (int i = 0; i < 2; i++) {
		struct event_requests r = {0};

		assert_int_equal(event_pattern_parse(word, NULL, presets, &r, &why),
				 i ? 0 : -EINVAL);
		event_requests_deinit(&r);
		word[TRACEFS_EVENTS_MAX_NAME - 1] = '\0';
	}
}

/* Ten thousand are read in no time, too many are refused. */
TEST(test_many_words)
{
	static char names[EVENT_WORDS_MAX + 1][24];
	static const char *words[EVENT_WORDS_MAX + 1];
	struct event_requests r = {0}, i = {0};

	for (size_t k = 0; k < ARRAY_SIZE(words); k++) {
		snprintf(names[k], sizeof(names[k]), "no/such%zu", k);
		words[k] = names[k];
	}
	assert_int_equal(event_patterns_resolve(words, 10000, &events, presets, &r, &i, &why), 0);
	assert_int_equal(r.n, 10000);
	event_requests_deinit(&r);
	assert_int_equal(
		event_patterns_resolve(words, ARRAY_SIZE(words), &events, presets, &r, &i, &why),
		-EINVAL);
	assert_string_equal(why.text, "too many events; the limit is 16384");
	assert_int_equal(r.n, 0);
}

TEST_GROUP(setup, teardown)
