/* SPDX-License-Identifier: Apache-2.0 */

#include "unit/test.h"
#include "procfs/counters/network_tables.c"

static char got[4096];

static void note(void *ctx, struct span name, const struct counter_number *v)
{
	size_t n = strlen(got);

	snprintf(got + n, sizeof(got) - n, "%.*s=%lld;", (int)name.len, name.p, (long long)v->i);
}

static struct span text_of(const char *s)
{
	got[0] = '\0';
	return (struct span){s, strlen(s)};
}

#define HEADING                                                                                    \
	"Inter-|   Receive   |  Transmit\n"                                                        \
	" face |bytes    packets errs|bytes    packets\n"

static int dev_line(const char *line)
{
	struct span heading = text_of(HEADING), s = text_of(line), name;
	struct network_columns c;

	assert_int_equal(network_columns_parse(&heading, &c), 0);
	assert_int_equal(heading.len, 0);
	if (network_dev_name(&s, &name) < 0)
		return -1;
	snprintf(got, sizeof(got), "%.*s: ", (int)name.len, name.p);
	return network_dev_parse(s, &c, note, NULL);
}

TEST(columns_have_the_names_of_the_heading)
{
	assert_int_equal(dev_line("  eth0: 1 2    3 4 5"), 0);
	assert_string_equal(got,
			    "eth0: rx bytes=1;rx packets=2;rx errs=3;tx bytes=4;tx packets=5;");
}

TEST(old_kernels_leave_the_blank_out)
{
	assert_int_equal(dev_line("  eth0:123456789 2 3 4 5"), 0);
	assert_memory_equal(got, "eth0: rx bytes=123456789;", 25);
}

TEST(other_numbers_of_columns_are_another_format)
{
	assert_true(dev_line(" eth0: 1 2 3 4") < 0);
	assert_true(dev_line(" eth0: 1 2 3 4 5 6") < 0);
	assert_true(dev_line(" eth0: 1 2 x 4 5") < 0);
	assert_true(dev_line(" eth0 1 2 3 4 5") < 0);
	assert_true(dev_line(" : 1 2 3 4 5") < 0);
	assert_true(dev_line("") < 0);
}

TEST(broken_headings)
{
	static const char *const bad[] = {
		"",
		"x\n",
		"x\ny\n",
		"x\nface|bytes\n",
		"x\nface||\n",
		"x\n|bytes|bytes\n",
		"x\nface|a-name-that-is-much-longer-than-columns|b\n",
		"x\nf|1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7|1 2 3 4 5 6 7 8 9 0 "
		"1 2 3 4 5 6\n"};
	struct network_columns c;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct span s = text_of(bad[i]);

		assert_true(network_columns_parse(&s, &c) < 0);
	}
}

TEST(pairs_of_lines)
{
	struct span s = text_of("Tcp: A B\nTcp: 1 -1\nTcpExt: C\nTcpExt: 3\n");
	struct network_pair pair;

	assert_true(network_pair_next(&s, &pair));
	assert_true(span_is(pair.protocol, "Tcp"));
	assert_int_equal(network_pair_parse(pair, note, NULL), 0);
	assert_true(network_pair_next(&s, &pair));
	assert_true(span_is(pair.protocol, "TcpExt"));
	assert_int_equal(network_pair_parse(pair, note, NULL), 0);
	assert_string_equal(got, "A=1;B=-1;C=3;");
	assert_false(network_pair_next(&s, &pair));
}

TEST(a_line_without_its_pair_is_passed_over)
{
	struct span s = text_of("nothing\nIp: A\nTcp: A\nTcp: 1\nUdp: B\n");
	struct network_pair pair;

	assert_true(network_pair_next(&s, &pair));
	assert_true(span_is(pair.protocol, "Tcp"));
	assert_false(network_pair_next(&s, &pair));
}

TEST(pairs_that_do_not_match)
{
	static const char *const texts[] = {"T: A B\nT: 1\n", "T: A\nT: 1 2\n", "T: A B\nT: x 2\n"};
	static const char *const rest[] = {"A=1;", "A=1;", "B=2;"};
	struct network_pair pair;

	for (size_t i = 0; i < 3; i++) {
		struct span s = text_of(texts[i]);

		assert_true(network_pair_next(&s, &pair));
		assert_true(network_pair_parse(pair, note, NULL) < 0);
		assert_string_equal(got, rest[i]);
	}
}

TEST(lines_of_snmp6)
{
	static const char *const others[] = {"",       "Ip6In", "Ip6In x", "Ip6In 1 2",
					     "IpIn 1", "6In 1", "Ip6 1"};
	struct span protocol, name;
	struct counter_number v;

	assert_int_equal(network_snmp6_parse(text_of("Icmp6InType134 \t 18446744073709551615"),
					     &protocol, &name, &v),
			 0);
	assert_true(span_is(protocol, "Icmp6") && span_is(name, "InType134"));
	assert_true(v.i == INT64_MAX);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		assert_int_equal(network_snmp6_parse(text_of(others[i]), &protocol, &name, &v),
				 -EBADMSG);
}
