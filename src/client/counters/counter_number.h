/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text/span.h"
#include "client/counters/tracks.h"

/* A parsed number: an integer, or with a decimal point. */
struct counter_number {
	bool is_double;
	int64_t i;
	double d;
};

/* Receives the numbers of a file. name is borrowed during the call. */
typedef void (*counter_number_fn)(void *ctx, struct span name, const struct counter_number *v);

/* Parses a decimal number with an optional minus and up to 9 digits after the point. Integers above
 * INT64_MAX become INT64_MAX. Returns false if s is not such a number, or its integer part exceeds
 * 64 bits. */
bool counter_number_parse(struct span s, struct counter_number *ret);

static inline void counter_number_set(struct tracks *t, uint32_t track,
				      const struct counter_number *v)
{
	if (v->is_double)
		tracks_set_double(t, track, v->d);
	else
		tracks_set(t, track, v->i);
}

/* Names and patterns of a config, copied because the config is freed before they are used. */

/* Maximum number of patterns in one list; further ones, and longer ones, are ignored. */
#define COUNTER_PATTERNS_MAX 512
#define COUNTER_PATTERN_SIZE 4096 /* with its NUL */

struct counter_patterns {
	char **all; /* owned */
	size_t n;
	size_t left_out; /* strings of the config that were ignored */
	bool *matched; /* owned; for each pattern: true if it has matched. NULL: the fallback */
};

/* Copies the n strings, or those of fallback (NULL-terminated; may be NULL) if n is 0. Logs how
 * many were ignored; `what` names the source and its field in the message. Returns 0 or -ENOMEM;
 * deinit in either case. */
int counter_patterns_init(struct counter_patterns *p, const char *what, char *const *strings,
			  size_t n, const char *const *fallback);
void counter_patterns_deinit(struct counter_patterns *p);

/* Returns true if the config or the fallback has any, even if all were ignored. */
static inline bool counter_patterns_are_given(const struct counter_patterns *p)
{
	return p->n + p->left_out > 0;
}

/* Returns true if a pattern matches s, and marks the patterns that match, for
 * counter_patterns_log_unmatched(). "*", "?" and "[...]" also match slashes. */
bool counter_patterns_match(const struct counter_patterns *p, const char *s);
/* Logs the patterns of the config that have not matched so far; `what` as for
 * counter_patterns_init(). */
void counter_patterns_log_unmatched(const struct counter_patterns *p, const char *what);
