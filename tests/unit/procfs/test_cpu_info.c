/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/fs.h"
#include "procfs/cpu_info.h"
#include "procfs/fake_proc.h"
#include "procfs/fake_producer.h"

#define DATA "tests/data/procfs/"

static struct pb_mem mem;
static struct strbuf text;

static int setup(void **state)
{
	(void)state;
	proc_new(); /* stands in for /sys */
	return pb_mem_init(&mem);
}

static int teardown(void **state)
{
	(void)state;
	strbuf_deinit(&text);
	pb_mem_deinit(&mem);
	proc_remove("");
	return 0;
}

static unsigned encode(const char *cpuinfo, size_t len)
{
	pb_mem_reset(&mem);
	cpu_info_encode(&mem.enc, cpuinfo, len, proc_root);
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

static void processors_of_a_pc(void **state)
{
	(void)state;
	assert_int_equal(encode_file(DATA "cpuinfo.x86"), 2);
	for (unsigned i = 0; i < 2; i++) {
		assert_true(fake_str_is(cpu(i), PB_CPU_INFO_CPU_PROCESSOR, 0, "AMD EPYC"));
		assert_false(fake_has(cpu(i), PB_CPU_INFO_CPU_FREQUENCIES));
		assert_false(fake_has(cpu(i), PB_CPU_INFO_CPU_CAPACITY));
		assert_false(fake_has(cpu(i), PB_CPU_INFO_CPU_ARM_IDENTIFIER));
		assert_false(fake_has(cpu(i), PB_CPU_INFO_CPU_FEATURES));
	}
}

static void identifiers_of_arm(void **state)
{
	struct pb_field id;

	(void)state;
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

static void a_place_for_those_that_are_offline(void **state)
{
	static const char holes[] = "processor : 1\n\nprocessor : 1\n\nprocessor : 0\n\n"
				    "processor : 8192\n\nprocessor : x\n\nprocessor : 3";

	(void)state;
	assert_int_equal(encode_file(DATA "cpuinfo.arm64"), 5);
	/* A number that comes again, or late, or is no number, has no place. */
	assert_int_equal(encode(holes, sizeof(holes) - 1), 4);
}

static void one_model_for_all(void **state)
{
	(void)state;
	assert_int_equal(encode_file(DATA "cpuinfo.arm32"), 2);
	for (unsigned i = 0; i < 2; i++)
		assert_true(fake_str_is(cpu(i), PB_CPU_INFO_CPU_PROCESSOR, 0,
					"ARMv7 Processor rev 4 (v7l)"));
}

static void frequencies_and_capacity(void **state)
{
	static const uint32_t want[] = {300000, 576000, 1766400, 2800000};
	struct pb_field f;

	(void)state;
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

static void texts_of_other_shapes(void **state)
{
	static const char *const texts[] = {
		"", "\n\n\n", ":", "processor", "processor :", "processor 0: version = FF\n"};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_int_equal(encode(texts[i], strlen(texts[i])), 0);
	assert_int_equal(encode(NULL, 0), 0);
	assert_int_equal(encode("\n\n processor\t :\t0 \n", 19), 1);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(processors_of_a_pc, setup, teardown),
		cmocka_unit_test_setup_teardown(identifiers_of_arm, setup, teardown),
		cmocka_unit_test_setup_teardown(a_place_for_those_that_are_offline, setup,
						teardown),
		cmocka_unit_test_setup_teardown(one_model_for_all, setup, teardown),
		cmocka_unit_test_setup_teardown(frequencies_and_capacity, setup, teardown),
		cmocka_unit_test_setup_teardown(texts_of_other_shapes, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
