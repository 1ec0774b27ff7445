/* SPDX-License-Identifier: Apache-2.0 */
/* What was meant by a word that names nothing; the kernel's list is that of kernel_events.h. */

#include "cli/terminal/suggestions.h"
#include "unit/cli/kernel_events.h"
#include "unit/test.h"

static void check(const struct tracefs_events *of_kernel, struct presets *presets, const char *word,
		  const char *expected)
{
	char buf[TRACEFS_EVENTS_MAX_NAME];
	const char *got = suggestions_find(of_kernel, presets, word, buf);

	if (!got != !expected || (got && strcmp(got, expected) != 0))
		fail_msg("%s: %s, not %s", word, got ? got : "nothing",
			 expected ? expected : "nothing");
}

TEST_WITH(test_presets_events_and_patterns, kernel_events_setup, kernel_events_teardown)
{
	static const char *const no_dirs[] = {NULL};
	struct presets *presets = presets_new(no_dirs);

	check(&events, presets, "shced", "sched");
	check(&events, NULL, "shced", "sched/*");
	check(&events, presets, "runqq", "runq");
	check(&events, presets, "sched_swich", "sched/sched_switch");
	check(&events, presets, "sched/sched_swich", "sched/sched_switch");
	check(&events, presets, "nothinglikethis", NULL);
	check(NULL, presets, "memm", "mem");

	check(&events, presets, "*swich*", "*switch*");
	check(&events, presets, "sched:*swich", "sched:*switch");
	check(&events, presets, "*irq_handlr_*", "*irq_handler_*");
	check(&events, presets, "block_rq_isue*", "block_rq_issue*");
	check(&events, presets, "*switch*", NULL); /* nothing is wrong with it */
	check(&events, presets, "nosuch:*swich", NULL); /* would match nothing either */
	check(&events, presets, "*", NULL);
	check(&events, presets, "*zz*", NULL);
	check(NULL, presets, "*swich*", NULL);
	presets_free(presets);
}
