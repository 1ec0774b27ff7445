/* SPDX-License-Identifier: Apache-2.0 */

#include "base/system/fs.h"
#include "procfs/machine/cpu_info.h"
#include "unit/fixture.h"
#include "unit/procfs/fake_proc.h"
#include "unit/procfs/fake_producer.h"

#define DATA "tests/data/procfs/"

static struct pb_mem mem;
static struct strbuf text;
static struct cpu_info info;

SETUP
{
	proc_new(); /* stands in for /sys */
	assert_int_equal(pb_mem_init(&mem), 0);
}

TEARDOWN
{
	strbuf_deinit(&text);
	pb_mem_deinit(&mem);
	proc_remove_all();
}

static unsigned encode(const char *cpuinfo, size_t len)
{
	pb_mem_reset(&mem);
	cpu_info_begin(&info, cpuinfo, len, proc_root);
	while (cpu_info_write_next(&info, &mem.enc))
		;
	return fake_count(mem.buf, pb_mem_len(&mem), PB_CPU_INFO_CPUS);
}

static unsigned encode_file(const char *path)
{
	strbuf_clear(&text);
	assert_int_equal(fs_read_file(path, 1 << 20, &text), 0);
	return encode(text.s, text.len);
}

static struct pb_field cpu(unsigned i)
{
	struct pb_field f = {0};

	assert_true(fake_field(mem.buf, pb_mem_len(&mem), PB_CPU_INFO_CPUS, i, &f));
	return f;
}

static const struct fake_word arm_words[] = {
	FAKE_WORD(PB_CPU_INFO_ARM_CPU_IDENTIFIER_IMPLEMENTER, "implementer"),
	FAKE_WORD(PB_CPU_INFO_ARM_CPU_IDENTIFIER_ARCHITECTURE, "architecture"),
	FAKE_WORD(PB_CPU_INFO_ARM_CPU_IDENTIFIER_VARIANT, "variant"),
	FAKE_WORD(PB_CPU_INFO_ARM_CPU_IDENTIFIER_PART, "part"),
	FAKE_WORD(PB_CPU_INFO_ARM_CPU_IDENTIFIER_REVISION, "revision"),
	{0},
};

static const struct fake_word x86_words[] = {
	FAKE_WORD(PB_CPU_INFO_X86_CPU_IDENTIFIER_VENDOR, "vendor"),
	FAKE_WORD(PB_CPU_INFO_X86_CPU_IDENTIFIER_FAMILY, "family"),
	FAKE_WORD(PB_CPU_INFO_X86_CPU_IDENTIFIER_MODEL, "model"),
	FAKE_WORD(PB_CPU_INFO_X86_CPU_IDENTIFIER_STEPPING, "stepping"),
	FAKE_WORD(PB_CPU_INFO_X86_CPU_IDENTIFIER_MICROCODE, "microcode"),
	{0},
};

static const struct fake_word cpu_words[] = {
	FAKE_WORD(PB_CPU_INFO_CPU_PROCESSOR, "processor"),
	FAKE_WORD(PB_CPU_INFO_CPU_FREQUENCIES, "khz"),
	FAKE_WORD(PB_CPU_INFO_CPU_CAPACITY, "capacity"),
	FAKE_WORDS(PB_CPU_INFO_CPU_ARM_IDENTIFIER, "arm", arm_words),
	FAKE_WORD(PB_CPU_INFO_CPU_FEATURES, "features"),
	{0},
};

static const struct fake_word x86_cpu_words[] = {
	FAKE_WORDS(PB_CPU_INFO_CPU_X86_IDENTIFIER, "x86", x86_words),
	{0},
};

static const struct fake_word feature_words[] = {
	FAKE_WORD(PB_CPU_INFO_CPU_FEATURE_WORDS, "words"),
	{0},
};

#define assert_cpu(i, want) assert_string_equal(fake_words(cpu(i), cpu_words), want)
#define assert_x86(i, want) assert_string_equal(fake_words(cpu(i), x86_cpu_words), want)
#define assert_words(i, want) assert_string_equal(fake_words(cpu(i), feature_words), want)

FIXTURE_TEST(processors_of_a_pc)
{
	assert_int_equal(encode_file(DATA "cpuinfo.x86"), 2);
	assert_cpu(0, "processor AMD EPYC");
	assert_cpu(1, "processor AMD EPYC");
}

/* Of the second and the fifth one key is missing, or no number. Features are whole words. Part 3333
 * is 0xd05, implementer 65 is 0x41. */
FIXTURE_TEST(identifiers_of_arm)
{
	encode_file(DATA "cpuinfo.arm64");
	assert_cpu(0, "processor unknown arm (implementer 65 architecture 8 variant 1 part 3333 "
		      "revision 0) features 1");
	assert_cpu(1, "processor unknown features 3");
	assert_cpu(4, "processor unknown");
}

FIXTURE_TEST(offline_processors_keep_their_places)
{
	static const char holes[] = "processor : 1\n\nprocessor : 1\n\nprocessor : 0\n\n"
				    "processor : 8192\n\nprocessor : x\n\nprocessor : 3";

	assert_int_equal(encode_file(DATA "cpuinfo.arm64"), 5);
	/* A number that is repeated, late, or invalid has no place. */
	assert_int_equal(encode(holes, sizeof(holes) - 1), 4);
}

FIXTURE_TEST(one_model_for_all)
{
	assert_int_equal(encode_file(DATA "cpuinfo.arm32"), 2);
	for (unsigned i = 0; i < 2; i++)
		assert_true(fake_str_is(cpu(i), PB_CPU_INFO_CPU_PROCESSOR, 0,
					"ARMv7 Processor rev 4 (v7l)"));
}

static void put_sys(unsigned i, const char *file, const char *content)
{
	proc_put(content, strlen(content), "devices/system/cpu/cpu%u/%s", i, file);
}

FIXTURE_TEST(frequencies_and_capacity)
{
	put_sys(0, "cpufreq/scaling_available_frequencies", "1766400 300000 576000 \n");
	put_sys(0, "cpufreq/scaling_boost_frequencies", "2800000 1766400\n");
	put_sys(0, "cpu_capacity", "475\n");
	put_sys(1, "cpu_capacity", "<unsupported>\n");
	encode_file(DATA "cpuinfo.x86");
	assert_cpu(0, "processor AMD EPYC khz 300000|576000|1766400|2800000 capacity 475");
	assert_cpu(1, "processor AMD EPYC");
}

/* A driver that takes any frequency of a range; and an old kernel's statistics. */
FIXTURE_TEST(frequencies_without_a_list)
{
	put_sys(0, "cpufreq/cpuinfo_min_freq", "800000\n");
	put_sys(0, "cpufreq/cpuinfo_max_freq", "4100000\n");
	put_sys(0, "cpufreq/scaling_cur_freq", "1000000\n");
	put_sys(1, "cpufreq/stats/time_in_state", "2600000 8811\n1400000 0\n1200000 7\n");
	put_sys(1, "cpufreq/cpuinfo_max_freq", "9999999\n");
	encode_file(DATA "cpuinfo.x86");
	assert_cpu(0, "processor AMD EPYC khz 800000|4100000");
	assert_cpu(1, "processor AMD EPYC khz 1200000|1400000|2600000");
}

/* 128 processors of one kind, two of them offline, the last one too. */
FIXTURE_TEST(a_large_server)
{
	char flags[2048] = "", words[2064];

	for (unsigned i = 0; i < 150; i++)
		sprintf(flags + strlen(flags), "%sflag_%u", i ? " " : "", i);
	proc_put("0-127\n", 6, "devices/system/cpu/present");
	strbuf_clear(&text);
	for (unsigned i = 0; i < 128; i++) {
		put_sys(i, "cpufreq/cpuinfo_min_freq", "800000\n");
		put_sys(i, "cpufreq/cpuinfo_max_freq", "3500000\n");
		if (i == 5 || i == 127)
			continue;
		strbuf_printf(&text,
			      "processor\t: %u\nvendor_id\t: GenuineIntel\ncpu family\t: 6\n"
			      "model\t\t: 106\nmodel name\t: Xeon(R) Platinum\nstepping\t: 6\n"
			      "microcode\t: 0xd0003a5\nflags\t\t: %s\nbugs\t\t: spectre_v1\n\n",
			      i, flags);
	}
	assert_int_equal(encode(text.s, text.len), 128);
	snprintf(words, sizeof(words), "words %s", flags);
	for (unsigned i = 0; i < 128; i++) {
		bool offline = i == 5 || i == 127;

		assert_cpu(i, offline ? "processor unknown khz 800000|3500000"
				      : "processor Xeon(R) Platinum khz 800000|3500000");
		assert_x86(i, offline ? ""
				      : "x86 (vendor GenuineIntel family 6 model 106 stepping 6 "
					"microcode 218104741)"); /* 0xd0003a5 */
		assert_words(i, i ? "" : words); /* written once */
	}
}

/* Four small and four big ones; a big one is offline, and has a capacity all the same. */
FIXTURE_TEST(a_board_with_big_and_small_processors)
{
	proc_put("0-7\n", 4, "devices/system/cpu/present");
	strbuf_clear(&text);
	for (unsigned i = 0; i < 8; i++) {
		put_sys(i, "cpu_capacity", i < 4 ? "398\n" : "1024\n");
		put_sys(i, "cpufreq/scaling_available_frequencies",
			i < 4 ? "300000 576000 1766400 \n" : "825600 \n");
		if (i >= 4)
			put_sys(i, "cpufreq/scaling_boost_frequencies", "2803200 \n");
		if (i != 6)
			strbuf_printf(&text,
				      "processor\t: %u\nBogoMIPS\t: 38.40\n"
				      "Features\t: fp asimd %s\nCPU implementer\t: 0x51\n"
				      "CPU architecture: 8\nCPU variant\t: 0x%x\nCPU part\t: 0x%x\n"
				      "CPU revision\t: %u\n\n",
				      i, i < 4 ? "aes" : "aes mte", i < 4 ? 7 : 6,
				      i < 4 ? 0x803 : 0x802, i < 4 ? 12 : 13);
	}
	assert_int_equal(encode(text.s, text.len), 8);
	for (unsigned i = 0; i < 8; i++) {
		if (i == 6)
			assert_cpu(i, "processor unknown khz 825600|2803200 capacity 1024");
		else
			assert_cpu(i, i < 4 ? "processor unknown khz 300000|576000|1766400 "
					      "capacity 398 arm (implementer 81 architecture 8 "
					      "variant 7 part 2051 revision 12)"
					    : "processor unknown khz 825600|2803200 capacity 1024 "
					      "arm (implementer 81 architecture 8 variant 6 part "
					      "2050 revision 13) features 1");
		assert_x86(i, "");
		/* The words of a kind of processors are written once. */
		assert_words(i, i == 0	 ? "words fp asimd aes"
				: i == 4 ? "words fp asimd aes mte"
					 : "");
	}
}

FIXTURE_TEST(files_that_cannot_be_read)
{
	/* A folder, an empty file, and text of another format. */
	put_sys(0, "cpu_capacity/x", "");
	put_sys(0, "cpufreq/scaling_available_frequencies/x", "");
	put_sys(0, "cpufreq/scaling_boost_frequencies", "700000 x 5000000000\n");
	put_sys(1, "cpu_capacity", "");
	put_sys(1, "cpufreq/scaling_available_frequencies", "");
	encode_file(DATA "cpuinfo.x86");
	assert_cpu(0, "processor AMD EPYC khz 700000");
	assert_cpu(1, "processor AMD EPYC");
	assert_int_equal(info.unreadable, 2);
	assert_int_equal(info.error, -EISDIR);
}

FIXTURE_TEST(lists_of_present_processors)
{
	static const struct {
		const char *list;
		unsigned want;
	} rows[] = {{"0\n", 1},	  {"0-3\n", 4}, {"0-1,4-5", 6},
		    {"0,2\n", 3}, {"\n", 0},	{"", 0},
		    {"x\n", 0},	  {"0-x\n", 0}, {"4294967295\n", CPU_INFO_MAX}};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		proc_put(rows[i].list, strlen(rows[i].list), "devices/system/cpu/present");
		assert_int_equal(encode("", 0), rows[i].want);
	}
}

FIXTURE_TEST(texts_of_other_formats)
{
	static const char *const texts[] = {
		"", "\n\n\n", ":", "processor", "processor :", "processor 0: version = FF\n"};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		assert_int_equal(encode(texts[i], strlen(texts[i])), 0);
	assert_int_equal(encode(NULL, 0), 0);
	assert_int_equal(encode("\n\n processor\t :\t0 \n", 19), 1);
}
