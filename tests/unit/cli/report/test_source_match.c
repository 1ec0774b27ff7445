/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/utsname.h>

#include "cli/report/config_sources.h"
#include "unit/test.h"

static enum config_source_match by_names(const char *exact, const char *regex, const char *name)
{
	Pb__TracingServiceState__Producer p = PB__TRACING_SERVICE_STATE__PRODUCER__INIT;
	Pb__TraceConfig__DataSource s = PB__TRACE_CONFIG__DATA_SOURCE__INIT;
	Pb__TraceConfig config = PB__TRACE_CONFIG__INIT;

	s.n_producer_name_filter = exact != NULL;
	s.producer_name_filter = (char **)&exact;
	s.n_producer_name_regex_filter = regex != NULL;
	s.producer_name_regex_filter = (char **)&regex;
	p.name = (char *)name;
	return config_sources_match(&config, &s, &p);
}

TEST(test_names)
{
	assert_int_equal(by_names(NULL, NULL, "a"), SOURCE_GIVEN);
	assert_int_equal(by_names("a", NULL, "a"), SOURCE_GIVEN);
	assert_int_equal(by_names("a", NULL, "ab"), SOURCE_OTHER_PRODUCER);
	assert_int_equal(by_names("x", "a+", "aa"), SOURCE_GIVEN);
	assert_int_equal(by_names("x", "a+", "x"), SOURCE_GIVEN);
	/* The whole name, whichever of the choices comes first. */
	assert_int_equal(by_names(NULL, "a", "ab"), SOURCE_OTHER_PRODUCER);
	assert_int_equal(by_names(NULL, "b", "ab"), SOURCE_OTHER_PRODUCER);
	assert_int_equal(by_names(NULL, "a|ab", "ab"), SOURCE_GIVEN);
	assert_int_equal(by_names(NULL, "a\\.b", "a.b"), SOURCE_GIVEN);
	assert_int_equal(by_names(NULL, "a\\.b", "axb"), SOURCE_OTHER_PRODUCER);
	assert_int_equal(by_names(NULL, "", "a"), SOURCE_OTHER_PRODUCER);
	assert_int_equal(by_names(NULL, "(?:\\w|x){2}", "a1"), SOURCE_GIVEN);
	assert_int_equal(by_names(NULL, "\\d", "a"), SOURCE_OTHER_PRODUCER);
	/* A producer of which the service tells no name. */
	assert_int_equal(by_names("a", NULL, NULL), SOURCE_GIVEN);
}

TEST(test_in_doubt_nothing_is_said)
{
	static const char *const doubtful[] = {
		"\\1", "(((x{1,200}){1,200}){1,200}){1,200}", "(", "[", "(x)\\1",
	};
	char longest[1026];

	for (size_t i = 0; i < sizeof(doubtful) / sizeof(doubtful[0]); i++)
		assert_int_equal(by_names(NULL, doubtful[i], "no"), SOURCE_GIVEN);
	memset(longest, 'x', sizeof(longest));
	longest[1025] = '\0';
	assert_int_equal(by_names(NULL, longest, "no"), SOURCE_GIVEN);
	longest[900] = '\0';
	assert_int_equal(by_names(NULL, longest, "no"), SOURCE_OTHER_PRODUCER);
}

static enum config_source_match by_machine(const char *filter, uint32_t id, const char *name,
					   bool all)
{
	Pb__TracingServiceState__Producer p = PB__TRACING_SERVICE_STATE__PRODUCER__INIT;
	Pb__TraceConfig__DataSource s = PB__TRACE_CONFIG__DATA_SOURCE__INIT;
	Pb__TraceConfig config = PB__TRACE_CONFIG__INIT;

	config.trace_all_machines = all;
	s.n_machine_name_filter = filter != NULL;
	s.machine_name_filter = (char **)&filter;
	p.has_machine_id = id != 0;
	p.machine_id = id;
	p.machine_name = (char *)name;
	return config_sources_match(&config, &s, &p);
}

TEST(test_machines)
{
	struct utsname u;

	assert_int_equal(uname(&u), 0);
	unsetenv("PERFETTO_MACHINE_NAME");
	assert_int_equal(by_machine("host", 0, NULL, false), SOURCE_GIVEN);
	assert_int_equal(by_machine(u.sysname, 0, NULL, false), SOURCE_GIVEN);
	assert_int_equal(by_machine("moon", 0, NULL, true), SOURCE_OTHER_MACHINE);
	assert_int_equal(by_machine("host", 5, "moon", false), SOURCE_OTHER_MACHINE);
	assert_int_equal(by_machine("moon", 5, "moon", false), SOURCE_GIVEN);
	assert_int_equal(by_machine("moon", 5, NULL, false), SOURCE_GIVEN);
	assert_int_equal(by_machine(NULL, 5, "moon", false), SOURCE_OTHER_MACHINE);
	assert_int_equal(by_machine(NULL, 5, "moon", true), SOURCE_GIVEN);
	assert_int_equal(by_machine(NULL, 0, NULL, false), SOURCE_GIVEN);

	setenv("PERFETTO_MACHINE_NAME", "moon", 1);
	assert_int_equal(by_machine("moon", 0, NULL, false), SOURCE_GIVEN);
	assert_int_equal(by_machine("host", 0, NULL, false), SOURCE_GIVEN);
	assert_int_equal(by_machine(u.sysname, 0, NULL, false), SOURCE_OTHER_MACHINE);
	unsetenv("PERFETTO_MACHINE_NAME");
}
