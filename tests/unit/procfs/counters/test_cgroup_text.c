/* SPDX-License-Identifier: Apache-2.0 */

#include "unit/test.h"
#include "procfs/counters/cgroup_source.c"

static char got[4096];

static void note(void *ctx, struct span name, const struct counter_number *v)
{
	size_t n = strlen(got);

	n += (size_t)snprintf(got + n, sizeof(got) - n, "%.*s=", (int)name.len, name.p);
	if (v->is_double)
		snprintf(got + n, sizeof(got) - n, "%.2f;", v->d);
	else
		snprintf(got + n, sizeof(got) - n, "%lld;", (long long)v->i);
}

/* The numbers of a text, as "name=number;" */
static const char *parse(const char *text, int expected)
{
	got[0] = '\0';
	assert_int_equal(cgroup_text_parse((struct span){text, strlen(text)}, note, NULL),
			 expected);
	return got;
}

#define BROKEN (-74) /* -EBADMSG */

TEST(a_single_number)
{
	assert_string_equal(parse("4096\n", 0), "=4096;");
	assert_string_equal(parse("max\n", 0), "");
}

TEST(keys_and_numbers)
{
	assert_string_equal(parse("anon 4096\nfile 0\n", 0), "anon=4096;file=0;");
	assert_string_equal(parse("anon 4096\nlimit max\nfile 1\n", 0), "anon=4096;file=1;");
}

TEST(numbers_of_devices_and_nodes)
{
	assert_string_equal(parse("254:0 rbytes=1 wbytes=2\n8:0 \n7:1\n259:3 rios=9\n", 0),
			    "254:0 rbytes=1;254:0 wbytes=2;259:3 rios=9;");
	assert_string_equal(parse("anon N0=1 N1=2\n", 0), "anon N0=1;anon N1=2;");
	assert_string_equal(parse("mlx4_0 hca_handle=2 hca_object=max\n", 0),
			    "mlx4_0 hca_handle=2;");
}

TEST(pressure)
{
	assert_string_equal(parse("some avg10=0.25 avg60=0.00 avg300=1.10 total=77\n", 0),
			    "some avg10=0.25;some avg60=0.00;some avg300=1.10;some total=77;");
}

TEST(an_invalid_line_loses_itself_only)
{
	assert_string_equal(parse("anon 4096 kB\nfile 5\n", BROKEN), "file=5;");
	assert_string_equal(parse("anon x\nfile 5\n", BROKEN), "file=5;");
	assert_string_equal(parse("8:0 rbytes=x\nfile 5\n", BROKEN), "file=5;");
	assert_string_equal(parse("8:0 rbytes= wbytes=1\n", BROKEN), "");
	assert_string_equal(parse("8:0 =1\n", BROKEN), "");
	assert_string_equal(parse("8:0 rbytes=1 wbytes\n", BROKEN), "8:0 rbytes=1;");
	assert_string_equal(parse("", 0), "");
	assert_string_equal(parse("\n\n \n", 0), "");
}

TEST(names_that_are_too_long)
{
	char text[1000];

	memset(text, 'x', sizeof(text));
	snprintf(text + 400, 100, " a=1\n");
	assert_string_equal(parse(text, BROKEN), "");
	snprintf(text, sizeof(text), "x %0300d=1\n", 0);
	assert_string_equal(parse(text, BROKEN), "");
}
