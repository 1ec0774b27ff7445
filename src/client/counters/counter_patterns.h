/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Names and patterns of a config, copied: the config is gone when they are needed. */

/* Of one kind; further ones are left out, and so are those that are longer. */
#define COUNTER_PATTERNS_MAX 512
#define COUNTER_PATTERN_SIZE 4096 /* with its NUL */

struct counter_patterns {
	char **all; /* owned */
	size_t n;
	size_t left_out; /* of the config's */
	bool *matched; /* owned; of a config's patterns: one for each, if it has matched anything */
};

/* The n strings, or where there are none those of fallback (NULL-terminated; may be NULL). Says how
 * many are left out of what (the source and its field). 0 or -ENOMEM; deinit in either case. */
int counter_patterns_init(struct counter_patterns *p, const char *what, char *const *strings,
			  size_t n, const char *const *fallback);
void counter_patterns_deinit(struct counter_patterns *p);

/* There were any, though all may be left out. */
static inline bool counter_patterns_given(const struct counter_patterns *p)
{
	return p->n + p->left_out > 0;
}

/* "*", "?" and "[...]" match any text, slashes too. */
bool counter_patterns_match(const struct counter_patterns *p, const char *s);
/* Says which of the config's have matched nothing so far; what as above. */
void counter_patterns_tell_unmatched(const struct counter_patterns *p, const char *what);
