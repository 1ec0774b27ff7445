// SPDX-License-Identifier: Apache-2.0
#include "ftrace/options/instance_options.c"
#include "unit/ftrace/setups.h"

static int set(const char *mask)
{
	char config[256];

	snprintf(config, sizeof(config), "tracing_cpumask: '%s'", mask);
	setup_begin(config);
	fake_text("instances/x/tracing_cpumask", "all");
	return traced_cpus_set(&setup);
}

SETUP_TEST(test_masks)
{
	static const char *const masks[] = {"1", "f", "00000001,ffffFFFF", "0,2", "80000000,0,0"};

	for (unsigned i = 0; i < ARRAY_SIZE(masks); i++) {
		assert_int_equal(set(masks[i]), 0);
		assert_string_equal(fake_written("tracing_cpumask"), masks[i]);
		assert_null(errors.fatal);
	}
	assert_int_equal(set(""), 0);
	setup_begin("");
	assert_int_equal(traced_cpus_set(&setup), 0);
	assert_string_equal(fake_written("tracing_cpumask"), "all");
}

SETUP_TEST(test_others_would_be_recorded)
{
	static const char *const masks[] = {"g",	 "0x3",	     "1,",  ",1",	 "1,,1",
					    "123456789", "1 2",	     "0-3", "-1",	 "0",
					    "0,0",	 "00000000", ",",   "1,%s%n%s%n"};

	for (unsigned i = 0; i < ARRAY_SIZE(masks); i++) {
		assert_int_equal(set(masks[i]), -EINVAL);
		assert_string_equal(fake_written("tracing_cpumask"), "all");
		assert_non_null(strstr(errors.fatal, "nothing is recorded"));
		assert_non_null(strstr(errors.fatal, masks[i]));
	}
}

SETUP_TEST(test_a_kernel_that_does_not_take_it)
{
	setup_begin("tracing_cpumask: '3'");
	fake_refusal("tracing_cpumask");
	assert_int_equal(traced_cpus_set(&setup), -EINVAL);
	assert_non_null(strstr(errors.fatal, "Is a directory"));
}
