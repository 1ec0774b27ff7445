/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "unit/test.h"
#include "procfs/sys/sys_user_files.c"

static char *got;
static FILE *out;

static void check_number(void *ctx, struct span name, const struct counter_number *v)
{
	if (v->is_double)
		fprintf(out, "%.*s = %g; ", (int)name.len, name.p, v->d);
	else
		fprintf(out, "%.*s = %" PRId64 "; ", (int)name.len, name.p, v->i);
}

static int parse(const char *text, size_t len)
{
	size_t size;
	int r;

	free(got);
	got = NULL;
	out = open_memstream(&got, &size);
	r = file_numbers_parse((struct span){text, len}, "file", check_number, NULL);
	fclose(out);
	return r;
}

static int teardown(void **state)
{
	free(got);
	got = NULL;
	return 0;
}

#define FIXTURE_TEST(name) TEST_WITH(name, NULL, teardown)

/* What the kernel's files look like. */
FIXTURE_TEST(names_are_made_of_the_words_before)
{
	static const struct {
		const char *text, *numbers;
	} files[] = {
		{"1539000\n", "file = 1539000; "},
		{"-40000", "file = -40000; "},
		{"0.52 0.58 0.59 2/345 12345\n",
		 "file = 0.52; file 2 = 0.58; file 3 = 0.59; file 5 = 12345; "},
		{"pgfault 12\npgmajfault 3\n", "pgfault = 12; pgmajfault = 3; "},
		{"VmRSS:\t    4096 kB\nVmHWM: 1 kB\n", "VmRSS = 4096; VmHWM = 1; "},
		{"TCP: inuse 5 orphan 0\nUDP: inuse 2\n",
		 "TCP inuse = 5; TCP orphan = 0; UDP inuse = 2; "},
		{"cpu0 1 2\n", "cpu0 = 1; cpu0 2 = 2; "},
		{"some avg10=0.12 total=8\nfull total=-\n", "some avg10 = 0.12; some total = 8; "},
		{"254:0 rbytes=5 x=\n", "rbytes = 5; "},
		{"  0:   44 7 IO-APIC 2-edge timer\n", "0 = 44; 0 2 = 7; "},
		{"ON\nrate is 5 per 7 s\n", "rate is = 5; per = 7; "},
		{"a b: c 1 d 2\n", "a b c = 1; d = 2; "},
	};

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		assert_int_equal(parse(files[i].text, strlen(files[i].text)), 0);
		assert_string_equal(got, files[i].numbers);
	}
}

FIXTURE_TEST(texts_without_a_number)
{
	static const char *const texts[] = {
		"", "\n\n", "[always] madvise never\n", "0x12 1e5 1.2.3\n", "a=b =5 =\n", ":\n"};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		assert_int_equal(parse(texts[i], strlen(texts[i])), -EBADMSG);
		assert_string_equal(got, "");
	}
}

FIXTURE_TEST(invalid_text_is_no_name)
{
	static const char bytes[] = "\0=1 a\0b 5 c 6\n";

	assert_int_equal(parse(bytes, sizeof(bytes) - 1), 0);
	assert_string_equal(got, "file 3 = 5; c = 6; ");
}

/* The numbers of the next words are there. */
FIXTURE_TEST(names_that_are_too_long_are_left_out)
{
	char text[400];

	memset(text, 'n', sizeof(text));
	memcpy(text + 300, " 1 k=2 m 3\nok 4\n", 17);
	assert_int_equal(parse(text, 317), 0);
	assert_string_equal(got, "m = 3; ok = 4; ");
	/* One that just fits. */
	memcpy(text + FILE_NUMBER_NAME_SIZE - 1, " 5\n", 3);
	assert_int_equal(parse(text, FILE_NUMBER_NAME_SIZE + 2), 0);
	assert_int_equal(strlen(got), FILE_NUMBER_NAME_SIZE - 1 + strlen(" = 5; "));
}
