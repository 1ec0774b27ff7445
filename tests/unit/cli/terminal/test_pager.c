/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>

#include "cli/terminal/pager.h"
#include "unit/test.h"

static bool is_default(int number)
{
	struct sigaction now;

	return sigaction(number, NULL, &now) == 0 && now.sa_handler == SIG_DFL;
}

/* Without a pager the text goes to standard output, and Ctrl-C ends that. */
TEST(signals_are_as_before_when_the_pager_has_ended)
{
	static const char *const pagers[] = {"true", "/no/such/pager"};
	static const int numbers[] = {SIGINT, SIGQUIT, SIGPIPE};

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		signal(numbers[i], SIG_DFL);
	for (size_t p = 0; p < ARRAY_SIZE(pagers); p++) {
		setenv("SONDA_PAGER", pagers[p], 1);
		pager_show("text\n", 5);
		for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
			assert_true(is_default(numbers[i]));
	}
}
