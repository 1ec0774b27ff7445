/* SPDX-License-Identifier: Apache-2.0 */
#include "client/counters/counter_number.h"

#include "base/core/mem.h"

#define FRACTION_DIGITS 9

/* Takes the digits that come next; how many, or -1: more than 64 bits. */
static int take_digits(struct span *s, uint64_t *ret_v)
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

static bool take_fraction(struct span *s, double *ret)
{
	double unit = 1;
	uint64_t v;
	int n;

	if (s->len == 0 || s->p[0] != '.')
		return false;
	*s = (struct span){s->p + 1, s->len - 1};
	n = take_digits(s, &v);
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
	if (take_digits(&s, &whole) <= 0)
		return false;
	v.is_double = s.len > 0;
	if (v.is_double && (!take_fraction(&s, &fraction) || s.len > 0))
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
