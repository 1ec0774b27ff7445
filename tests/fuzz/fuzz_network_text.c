/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "procfs/counters/network_text.h"

/* The same bytes as /proc/net/dev, and as /proc/net/snmp, netstat or snmp6. */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void on_number(void *ctx, struct span name, const struct counter_number *v)
{
	size_t *n = ctx;

	if (name.len == 0 || !name.p || (v->is_double && v->i != 0))
		abort();
	++*n;
}

static void dev(struct span text)
{
	struct network_columns c;
	struct span line, name;

	if (network_columns_parse(&text, &c) < 0)
		return;
	if (c.n == 0 || c.n > NETWORK_COLUMNS_MAX)
		abort();
	while (span_next_line(&text, &line)) {
		size_t n = 0;
		int r;

		if (network_dev_cut_name(&line, &name) < 0)
			continue;
		if (name.len == 0)
			abort();
		r = network_dev_parse(line, &c, on_number, &n);
		if (n > c.n || (r == 0 && n != c.n))
			abort();
	}
}

static void pairs(struct span text)
{
	struct network_pair pair;
	size_t before = text.len, n = 0;

	while (network_pair_next(&text, &pair)) {
		if (text.len >= before)
			abort(); /* it would never end */
		before = text.len;
		(void)network_pair_parse(pair, on_number, &n);
	}
}

static void snmp6(struct span text)
{
	struct span line, protocol, name;
	struct counter_number v;

	while (span_next_line(&text, &line))
		if (network_snmp6_parse(line, &protocol, &name, &v) == 0 &&
		    (protocol.len < 2 || name.len == 0 || name.p + name.len > line.p + line.len))
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span text = {(const char *)data, size};

	if (!data)
		return 0;
	dev(text);
	pairs(text);
	snmp6(text);
	return 0;
}
