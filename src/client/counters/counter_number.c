/* SPDX-License-Identifier: Apache-2.0 */
#include "client/counters/counter_number.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/system/log.h"
#include "base/text/str.h"

#define FRACTION_DIGITS 9

/* Parses the next digits. Returns their number, or -1 if the value exceeds 64 bits. */
static int parse_digits(struct span *s, uint64_t *ret_v)
{
	uint64_t v = 0;
	int n = 0;

	for (; s->len > 0 && s->p[0] >= '0' && s->p[0] <= '9'; s->p++, s->len--, n++)
		if (__builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(s->p[0] - '0'), &v))
			return -1;
	*ret_v = v;
	return n;
}

static bool parse_fraction(struct span *s, double *ret)
{
	double unit = 1;
	uint64_t v;
	int n;

	if (s->len == 0 || s->p[0] != '.')
		return false;
	*s = (struct span){s->p + 1, s->len - 1};
	n = parse_digits(s, &v);
	if (n <= 0 || n > FRACTION_DIGITS)
		return false;
	while (n-- > 0)
		unit *= 10;
	*ret = (double)v / unit;
	return true;
}

bool counter_number_parse(struct span s, struct counter_number *ret)
{
	bool minus = s.len > 0 && s.p[0] == '-';
	struct counter_number v = {0};
	double fraction;
	uint64_t whole;

	if (minus)
		s = (struct span){s.p + 1, s.len - 1};
	if (parse_digits(&s, &whole) <= 0)
		return false;
	v.is_double = s.len > 0;
	if (v.is_double && (!parse_fraction(&s, &fraction) || s.len > 0))
		return false;
	if (v.is_double) {
		v.d = (double)whole + fraction;
		v.d = minus ? -v.d : v.d;
	} else {
		v.i = (int64_t)MIN(whole, (uint64_t)INT64_MAX);
		v.i = minus ? -v.i : v.i;
	}
	*ret = v;
	return true;
}

#define NAMES_LOGGED 8u

static int copy_patterns(struct counter_patterns *p, const char *const *strings, size_t n)
{
	size_t room = MIN(n, (size_t)COUNTER_PATTERNS_MAX);

	p->all = calloc(room + 1, sizeof(*p->all));
	if (!p->all)
		return -ENOMEM;
	for (size_t i = 0; i < n && p->n < room; i++) {
		if (strlen(strings[i]) >= COUNTER_PATTERN_SIZE)
			continue;
		p->all[p->n] = strdup(strings[i]);
		if (!p->all[p->n])
			return -ENOMEM;
		p->n++;
	}
	p->left_out = n - p->n;
	return 0;
}

int counter_patterns_init(struct counter_patterns *p, const char *what, char *const *strings,
			  size_t n, const char *const *fallback)
{
	int r;

	*p = (struct counter_patterns){0};
	if (n == 0) {
		while (fallback && fallback[n])
			n++;
		return copy_patterns(p, fallback, n);
	}
	r = copy_patterns(p, (const char *const *)strings, n);
	p->matched = calloc(n, sizeof(*p->matched));
	if (r == 0 && p->left_out)
		log_warn("%s: %zu of %zu patterns are ignored; the limit is %d patterns of at most "
			 "%d bytes",
			 what, p->left_out, n, COUNTER_PATTERNS_MAX, COUNTER_PATTERN_SIZE - 1);
	return r;
}

void counter_patterns_deinit(struct counter_patterns *p)
{
	for (size_t i = 0; i < p->n; i++)
		free(p->all[i]);
	free(p->all);
	free(p->matched);
	*p = (struct counter_patterns){0};
}

bool counter_patterns_match(const struct counter_patterns *p, const char *s)
{
	bool found = false;

	/* No escapes: names of the kernel and of systemd contain backslashes. */
	for (size_t i = 0; i < p->n; i++) {
		if ((found && (!p->matched || p->matched[i])) ||
		    fnmatch(p->all[i], s, FNM_NOESCAPE) != 0)
			continue;
		found = true;
		if (p->matched)
			p->matched[i] = true;
	}
	return found;
}

void counter_patterns_log_unmatched(const struct counter_patterns *p, const char *what)
{
	_cleanup_(strbuf_deinit) struct strbuf names = {0};
	size_t n = 0;

	for (size_t i = 0; p->matched && i < p->n; i++)
		if (!p->matched[i] && strcmp(p->all[i], "*") != 0 && n++ < NAMES_LOGGED)
			strbuf_printf(&names, "%s'%.64s'", n > 1 ? ", " : "", p->all[i]);
	if (n > NAMES_LOGGED)
		strbuf_printf(&names, " and %zu more", n - NAMES_LOGGED);
	if (n && names.s)
		log_warn("%s: nothing matches %s so far", what, names.s);
}
