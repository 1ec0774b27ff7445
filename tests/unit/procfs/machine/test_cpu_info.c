/* SPDX-License-Identifier: Apache-2.0 */

#include "base/system/fs.h"
#include "procfs/machine/cpu_info.h"
#include "unit/fixture.h"
#include "unit/procfs/fake_fields.h"
#include "unit/procfs/fake_proc.h"

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

/* All but the words of its features. */
#define assert_cpu(i, want)                                                                        \
	assert_string_equal(fake_fields(cpu(i), "CpuInfo.Cpu", PB_CPU_INFO_CPU_FEATURE_WORDS), want)

static void assert_words(unsigned i, const char *want)
{
	assert_int_equal(fake_has(cpu(i), PB_CPU_INFO_CPU_FEATURE_WORDS), want != NULL);
	assert_true(!want || fake_str_is(cpu(i), PB_CPU_INFO_CPU_FEATURE_WORDS, 0, want));
}

#define EPYC " x86_identifier (vendor AuthenticAMD family 26 model 2 stepping 1 microcode 16777317)"

FIXTURE_TEST(processors_of_a_pc)
{
	assert_int_equal(encode_file(DATA "cpuinfo.x86"), 2);
	assert_cpu(0, "processor AMD EPYC" EPYC);
	assert_cpu(1, "processor AMD EPYC" EPYC);
}

/* Of the second and the fifth one key is missing, or no number. Features are whole words. Part 3333
 * is 0xd05, implementer 65 is 0x41. */
FIXTURE_TEST(identifiers_of_arm)
{
	encode_file(DATA "cpuinfo.arm64");
	assert_cpu(0, "processor unknown arm_identifier (implementer 65 architecture 8 variant 1 "
		      "part 3333 "
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
		assert_cpu(i, "processor ARMv7 Processor rev 4 (v7l)");
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
	assert_cpu(
		0,
		"processor AMD EPYC frequencies 300000|576000|1766400|2800000 capacity 475" EPYC);
	assert_cpu(1, "processor AMD EPYC" EPYC);
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
	assert_cpu(0, "processor AMD EPYC frequencies 800000|4100000" EPYC);
	assert_cpu(1, "processor AMD EPYC frequencies 1200000|1400000|2600000" EPYC);
}

/* 128 processors of one kind, two of them offline, the last one too. */
FIXTURE_TEST(a_large_server)
{
	static const char each[] =
		"processor Xeon(R) Platinum frequencies 800000|3500000 x86_identifier (vendor "
		"GenuineIntel family 6 model 106 stepping 6 microcode 218104741)"; /* 0xd0003a5 */
	char flags[2048] = "";

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
	for (unsigned i = 0; i < 128; i++) {
		assert_cpu(i, i == 5 || i == 127 ? "processor unknown frequencies 800000|3500000"
						 : each);
		assert_words(i, i ? NULL : flags); /* written once */
	}
}

/* Four small and four big ones; a big one is offline, and has a capacity all the same. */
FIXTURE_TEST(a_board_with_big_and_small_processors)
{
#define SMALL                                                                                      \
	"processor unknown frequencies 300000|576000|1766400 capacity 398 arm_identifier "         \
	"(implementer 81 architecture 8 variant 7 part 2051 revision 12)"
#define BIG                                                                                        \
	"processor unknown frequencies 825600|2803200 capacity 1024 arm_identifier (implementer "  \
	"81 architecture 8 variant 6 part 2050 revision 13) features 1"
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
	/* The words of a kind of processors are written once. */
	for (unsigned i = 0; i < 8; i++) {
		assert_cpu(i, i == 6  ? "processor unknown frequencies 825600|2803200 capacity 1024"
			      : i < 4 ? SMALL
				      : BIG);
		assert_words(i, i == 0 ? "fp asimd aes" : i == 4 ? "fp asimd aes mte" : NULL);
	}
}

FIXTURE_TEST(files_that_cannot_be_read)
{
	/* A directory, an empty file, and text of another format. */
	put_sys(0, "cpu_capacity/x", "");
	put_sys(0, "cpufreq/scaling_available_frequencies/x", "");
	put_sys(0, "cpufreq/scaling_boost_frequencies", "700000 x 5000000000\n");
	put_sys(1, "cpu_capacity", "");
	put_sys(1, "cpufreq/scaling_available_frequencies", "");
	encode_file(DATA "cpuinfo.x86");
	assert_cpu(0, "processor AMD EPYC frequencies 700000" EPYC);
	assert_cpu(1, "processor AMD EPYC" EPYC);
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
