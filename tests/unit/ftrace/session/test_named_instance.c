// SPDX-License-Identifier: Apache-2.0
#include "unit/ftrace/fake_tracefs.h"
#include "ftrace/session/session_instance.h"

SETUP
{
	fake_root_new();
	fake_text("instances/foo/tracing_on", "1\n");
	fake_text("instances/fool/x", "");
	fake_text("hyp/tracing_on", "1\n");
	fake_text("tracing_on", "1\n");
}

TEARDOWN
{
	fake_root_remove();
}

FIXTURE_TEST(test_places)
{
	struct instance i;
	struct err_text e;

	assert_int_equal(named_instance_attach(&i, fake_root, NULL, "foo", &e), 0);
	assert_string_equal(i.path, fake_path("instances/foo"));
	assert_false(instance_is_own(&i));
	assert_int_equal(instance_remove(&i), 0);
	assert_int_equal(named_instance_attach(&i, fake_root, NULL, "hyp", &e), 0);
	assert_string_equal(i.path, fake_path("hyp"));
	assert_int_equal(instance_remove(&i), 0);
	assert_int_equal(named_instance_attach(&i, fake_root, NULL, "hypervisor", &e), -ENOENT);
}

FIXTURE_TEST(test_names_that_are_none)
{
	static const struct {
		const char *name, *why;
		int error;
	} names[] = {
		{"", "not the name", -EINVAL},
		{"a/b", "not the name", -EINVAL},
		{"/", "not the name", -EINVAL},
		{"..", "not the name", -EINVAL},
		{"../foo", "not the name", -EINVAL},
		{".", "not the name", -EINVAL},
		{"..foo", "not the name", -EINVAL},
		{"sonda-1-1", "another recording", -EINVAL},
		{"fooo", "did you mean foo?", -ENOENT},
		{"nothing like it", "no such instance", -ENOENT},
	};
	char longest[400], want[64];
	struct instance i;
	struct err_text e;

	for (size_t k = 0; k < ARRAY_SIZE(names); k++) {
		assert_int_equal(named_instance_attach(&i, fake_root, NULL, names[k].name, &e),
				 names[k].error);
		snprintf(want, sizeof(want), "instance_name \"%s\": ", names[k].name);
		if (!strstr(e.text, names[k].why) || strncmp(e.text, want, strlen(want)) != 0)
			fail_msg("%s", e.text);
		assert_false(instance_is_made(&i));
	}
	memset(longest, 'x', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	assert_int_equal(named_instance_attach(&i, fake_root, NULL, longest, &e), -ENAMETOOLONG);
}
