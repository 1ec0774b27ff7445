/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

/* A test is a function that returns true; CHECK leaves it with a message where something is not as
 * it should be. tap_run() prints one line for each. */
#define CHECK(cond)                                                                                \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			printf("# %s:%d: %s\n", __FILE__, __LINE__, #cond);                        \
			return false;                                                              \
		}                                                                                  \
	} while (0)

/* Leaves a test that cannot be tried here. */
#define SKIP(reason)                                                                               \
	do {                                                                                       \
		tap_skipped = reason;                                                              \
		return true;                                                                       \
	} while (0)

static const char *tap_skipped; /* why the test was not tried; NULL: it was */

struct tap_test {
	const char *name;
	bool (*run)(void);
};

/* The exit status. */
static inline int tap_run(const struct tap_test *tests, size_t n)
{
	int status = 0;

	for (size_t i = 0; i < n; i++) {
		bool good;

		tap_skipped = NULL;
		good = tests[i].run();
		printf("%sok %zu - %s", good ? "" : "not ", i + 1, tests[i].name);
		if (tap_skipped)
			printf(" # SKIP %s", tap_skipped);
		printf("\n");
		fflush(stdout);
		if (!good)
			status = 1;
	}
	return status;
}
