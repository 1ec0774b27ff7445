/* SPDX-License-Identifier: Apache-2.0 */

#include "unit/fixture.h"
#include "base/system/fs.h"
#include "procfs/machine/cpu_info.h"
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
	proc_remove("");
}

static unsigned encode(const char *cpuinfo, size_t len)
{
	pb_mem_reset(&mem);
	cpu_info_begin(&info, cpuinfo, len, proc_root);
	while (cpu_info_step(&info, &mem.enc))
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

FIXTURE_TEST(processors_of_a_pc)
{
	assert_int_equal(encode_file(DATA "cpuinfo.x86"), 2);
	for (unsigned i = 0; i < 2; i++) {
		assert_true(fake_str_is(cpu(i), PB_CPU_INFO_CPU_PROCESSOR, 0, "AMD EPYC"));
		assert_false(fake_has(cpu(i), PB_CPU_INFO_CPU_FREQUENCIES));
		assert_false(fake_has(cpu(i), PB_CPU_INFO_CPU_CAPACITY));
		assert_false(fake_has(cpu(i), PB_CPU_INFO_CPU_ARM_IDENTIFIER));
		assert_false(fake_has(cpu(i), PB_CPU_INFO_CPU_FEATURES));
	}
}

FIXTURE_TEST(identifiers_of_arm)
{
	struct pb_field id;

	encode_file(DATA "cpuinfo.arm64");
	assert_true(fake_field(cpu(0).data, cpu(0).len, PB_CPU_INFO_CPU_ARM_IDENTIFIER, 0, &id));
	assert_int_equal(fake_u64(id, PB_CPU_INFO_ARM_CPU_IDENTIFIER_IMPLEMENTER), 0x41);
	assert_int_equal(fake_u64(id, PB_CPU_INFO_ARM_CPU_IDENTIFIER_ARCHITECTURE), 8);
	assert_int_equal(fake_u64(id, PB_CPU_INFO_ARM_CPU_IDENTIFIER_VARIANT), 1);
	assert_int_equal(fake_u64(id, PB_CPU_INFO_ARM_CPU_IDENTIFIER_PART), 0xd05);
	assert_int_equal(fake_u64(id, PB_CPU_INFO_ARM_CPU_IDENTIFIER_REVISION), 0);
	/* One key is missing; one is no number. */
	assert_false(fake_has(cpu(1), PB_CPU_INFO_CPU_ARM_IDENTIFIER));
	assert_false(fake_has(cpu(4), PB_CPU_INFO_CPU_ARM_IDENTIFIER));
	/* Whole words. */
	assert_int_equal(fake_u64(cpu(0), PB_CPU_INFO_CPU_FEATURES), 1);
	assert_int_equal(fake_u64(cpu(1), PB_CPU_INFO_CPU_FEATURES), 3);
	assert_false(fake_has(cpu(4), PB_CPU_INFO_CPU_FEATURES));
	assert_true(fake_str_is(cpu(0), PB_CPU_INFO_CPU_PROCESSOR, 0, "unknown"));
}

FIXTURE_TEST(a_place_for_those_that_are_offline)
{
	static const char holes[] = "processor : 1\n\nprocessor : 1\n\nprocessor : 0\n\n"
				    "processor : 8192\n\nprocessor : x\n\nprocessor : 3";

	assert_int_equal(encode_file(DATA "cpuinfo.arm64"), 5);
	/* A number that comes again, or late, or is no number, has no place. */
	assert_int_equal(encode(holes, sizeof(holes) - 1), 4);
}

FIXTURE_TEST(one_model_for_all)
{
	assert_int_equal(encode_file(DATA "cpuinfo.arm32"), 2);
	for (unsigned i = 0; i < 2; i++)
		assert_true(fake_str_is(cpu(i), PB_CPU_INFO_CPU_PROCESSOR, 0,
					"ARMv7 Processor rev 4 (v7l)"));
}

FIXTURE_TEST(frequencies_and_capacity)
{
	static const uint32_t want[] = {300000, 576000, 1766400, 2800000};
	struct pb_field f;

#define CPU0 "devices/system/cpu/cpu0/"
	proc_put("1766400 300000 576000 \n", 23, CPU0 "cpufreq/scaling_available_frequencies");
	proc_put("2800000 1766400\n", 16, CPU0 "cpufreq/scaling_boost_frequencies");
	proc_put("475\n", 4, CPU0 "cpu_capacity");
	proc_put("<unsupported>\n", 14, "devices/system/cpu/cpu1/cpu_capacity");
	encode_file(DATA "cpuinfo.x86");
	assert_int_equal(fake_count(cpu(0).data, cpu(0).len, PB_CPU_INFO_CPU_FREQUENCIES), 4);
	for (unsigned i = 0; i < 4; i++) {
		assert_true(
			fake_field(cpu(0).data, cpu(0).len, PB_CPU_INFO_CPU_FREQUENCIES, i, &f));
		assert_int_equal(f.u64, want[i]);
	}
	assert_int_equal(fake_u64(cpu(0), PB_CPU_INFO_CPU_CAPACITY), 475);
	assert_false(fake_has(cpu(1), PB_CPU_INFO_CPU_FREQUENCIES));
	assert_false(fake_has(cpu(1), PB_CPU_INFO_CPU_CAPACITY));
}

/* The frequencies of a processor, each of them and no other. */
static void assert_khz(unsigned i, const uint32_t *want, unsigned n)
{
	struct pb_field f;

	assert_int_equal(fake_count(cpu(i).data, cpu(i).len, PB_CPU_INFO_CPU_FREQUENCIES), n);
	for (unsigned k = 0; k < n; k++) {
		fake_field(cpu(i).data, cpu(i).len, PB_CPU_INFO_CPU_FREQUENCIES, k, &f);
		assert_int_equal(f.u64, want[k]);
	}
}

static void put_sys(unsigned i, const char *file, const char *content)
{
	proc_put(content, strlen(content), "devices/system/cpu/cpu%u/%s", i, file);
}

FIXTURE_TEST(frequencies_without_a_list)
{
	static const uint32_t range[] = {800000, 4100000}, states[] = {1200000, 1400000, 2600000};

	/* A driver that takes any frequency of a range; and an old kernel's statistics. */
	put_sys(0, "cpufreq/cpuinfo_min_freq", "800000\n");
	put_sys(0, "cpufreq/cpuinfo_max_freq", "4100000\n");
	put_sys(0, "cpufreq/scaling_cur_freq", "1000000\n");
	put_sys(1, "cpufreq/stats/time_in_state", "2600000 8811\n1400000 0\n1200000 7\n");
	put_sys(1, "cpufreq/cpuinfo_max_freq", "9999999\n");
	encode_file(DATA "cpuinfo.x86");
	assert_khz(0, range, 2);
	assert_khz(1, states, 3);
}

/* 128 processors of one kind, two of them offline, the last one too. */
FIXTURE_TEST(a_large_server)
{
	static const uint32_t range[] = {800000, 3500000};
	char flags[2048] = "";
	struct pb_field id;

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
		bool offline = i == 5 || i == 127;

		assert_true(fake_str_is(cpu(i), PB_CPU_INFO_CPU_PROCESSOR, 0,
					offline ? "unknown" : "Xeon(R) Platinum"));
		assert_khz(i, range, 2);
		/* Said once. */
		assert_int_equal(fake_has(cpu(i), PB_CPU_INFO_CPU_FEATURE_WORDS), i == 0);
		assert_int_equal(fake_has(cpu(i), PB_CPU_INFO_CPU_X86_IDENTIFIER), !offline);
		assert_false(fake_has(cpu(i), PB_CPU_INFO_CPU_FEATURES));
	}
	assert_true(fake_str_is(cpu(0), PB_CPU_INFO_CPU_FEATURE_WORDS, 0, flags));
	fake_field(cpu(126).data, cpu(126).len, PB_CPU_INFO_CPU_X86_IDENTIFIER, 0, &id);
	assert_true(fake_str_is(id, PB_CPU_INFO_X86_CPU_IDENTIFIER_VENDOR, 0, "GenuineIntel"));
	assert_int_equal(fake_u64(id, PB_CPU_INFO_X86_CPU_IDENTIFIER_FAMILY), 6);
	assert_int_equal(fake_u64(id, PB_CPU_INFO_X86_CPU_IDENTIFIER_MODEL), 106);
	assert_int_equal(fake_u64(id, PB_CPU_INFO_X86_CPU_IDENTIFIER_STEPPING), 6);
	assert_int_equal(fake_u64(id, PB_CPU_INFO_X86_CPU_IDENTIFIER_MICROCODE), 0xd0003a5);
}

/* Four small and four big ones; a big one is offline, and has a capacity all the same. */
FIXTURE_TEST(a_board_with_big_and_small_ones)
{
	static const uint32_t little[] = {300000, 576000, 1766400}, big[] = {825600, 2803200};
	struct pb_field id;

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
		assert_int_equal(fake_u64(cpu(i), PB_CPU_INFO_CPU_CAPACITY), i < 4 ? 398 : 1024);
		assert_khz(i, i < 4 ? little : big, i < 4 ? 3 : 2);
		assert_int_equal(fake_has(cpu(i), PB_CPU_INFO_CPU_FEATURE_WORDS), i == 0 || i == 4);
		assert_int_equal(fake_has(cpu(i), PB_CPU_INFO_CPU_FEATURES), i >= 4 && i != 6);
		assert_false(fake_has(cpu(i), PB_CPU_INFO_CPU_X86_IDENTIFIER));
	}
	assert_false(fake_has(cpu(6), PB_CPU_INFO_CPU_ARM_IDENTIFIER));
	fake_field(cpu(7).data, cpu(7).len, PB_CPU_INFO_CPU_ARM_IDENTIFIER, 0, &id);
	assert_int_equal(fake_u64(id, PB_CPU_INFO_ARM_CPU_IDENTIFIER_IMPLEMENTER), 0x51);
	assert_int_equal(fake_u64(id, PB_CPU_INFO_ARM_CPU_IDENTIFIER_VARIANT), 6);
	assert_int_equal(fake_u64(id, PB_CPU_INFO_ARM_CPU_IDENTIFIER_PART), 0x802);
	assert_int_equal(fake_u64(id, PB_CPU_INFO_ARM_CPU_IDENTIFIER_REVISION), 13);
}

FIXTURE_TEST(files_that_cannot_be_read)
{
	static const uint32_t want[] = {700000};

	/* Folders in their place; an empty file; other text. */
	put_sys(0, "cpu_capacity/x", "");
	put_sys(0, "cpufreq/scaling_available_frequencies/x", "");
	put_sys(0, "cpufreq/scaling_boost_frequencies", "700000 x 5000000000\n");
	put_sys(1, "cpu_capacity", "");
	put_sys(1, "cpufreq/scaling_available_frequencies", "");
	encode_file(DATA "cpuinfo.x86");
	assert_khz(0, want, 1);
	assert_khz(1, NULL, 0);
	assert_false(fake_has(cpu(0), PB_CPU_INFO_CPU_CAPACITY));
	assert_int_equal(info.unreadable, 2);
	assert_int_equal(info.error, -EISDIR);
}

FIXTURE_TEST(lists_of_those_that_are_present)
{
	static const struct {
		const char *list;
		unsigned want;
	} rows[] = {{"0\n", 1},	  {"0-3\n", 4}, {"0-1,4-5", 6},
		    {"0,2\n", 3}, {"\n", 0},	{"", 0},
		    {"x\n", 0},	  {"0-x\n", 0}, {"4294967295\n", CPU_INFO_MAX}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		proc_put(rows[i].list, strlen(rows[i].list), "devices/system/cpu/present");
		assert_int_equal(encode("", 0), rows[i].want);
	}
}

FIXTURE_TEST(texts_of_other_shapes)
{
	static const char *const texts[] = {
		"", "\n\n\n", ":", "processor", "processor :", "processor 0: version = FF\n"};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_int_equal(encode(texts[i], strlen(texts[i])), 0);
	assert_int_equal(encode(NULL, 0), 0);
	assert_int_equal(encode("\n\n processor\t :\t0 \n", 19), 1);
}
