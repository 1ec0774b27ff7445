/* SPDX-License-Identifier: Apache-2.0 */
/* Which entries of the journal activate which triggers. */
#include "procfs/machine/journald_triggers.h"
#include "unit/test.h"

#define FAILED "MESSAGE_ID=d9b373ed55a64feb8242e02dbe79a49c"

static Pb__SystemdJournaldConfig config;
static Pb__SystemdJournaldConfig__Trigger all[JOURNALD_TRIGGERS_MAX + 1],
	*list[JOURNALD_TRIGGERS_MAX + 1];
static struct journald_triggers *t;
static struct strbuf errors;
static uint64_t now;

static Pb__SystemdJournaldConfig__Trigger *add(const char *name)
{
	Pb__SystemdJournaldConfig__Trigger *c = &all[config.n_triggers];

	pb__systemd_journald_config__trigger__init(c);
	c->name = (char *)name;
	list[config.n_triggers++] = c;
	config.triggers = list;
	return c;
}

static int begin(void **state)
{
	pb__systemd_journald_config__init(&config);
	now = 1;
	return 0;
}

static int end(void **state)
{
	journald_triggers_free(TAKE_PTR(t));
	strbuf_deinit(&errors);
	return 0;
}

#define TRIGGER_TEST(name) TEST_WITH(name, begin, end)

/* The names that an entry of these fields fires, with blanks between. Two seconds later than the last. */
#define FIRED(...) fired((const char *const[]){__VA_ARGS__, NULL})
static const char *fired(const char *const *fields)
{
	static char text[1024];
	const char *const *names;
	size_t n, at = 0;

	now += 2 * JOURNALD_TRIGGER_PAUSE_NS;
	for (; *fields; fields++)
		journald_triggers_add_field(t, *fields, strlen(*fields));
	n = journald_triggers_end_entry(t, now, &names);
	text[0] = '\0';
	for (size_t i = 0; i < n; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s", i ? " " : "",
				       names[i]);
	return text;
}

static void make(void)
{
	assert_int_equal(journald_triggers_new(&config, &errors, &t), 0);
	assert_non_null(t);
	assert_null(errors.s);
}

TRIGGER_TEST(a_message_matches_in_a_part)
{
	add("oom")->message = (char *)"Out of memory: Killed process \\d+";
	add("slow")->message = (char *)"^slow";
	make();
	assert_string_equal(FIRED("MESSAGE=x Out of memory: Killed process 12 (a)"), "oom");
	assert_string_equal(FIRED("MESSAGE=Out of memory: Killed process"), "");
	assert_string_equal(FIRED("MESSAGE=slow"), "slow");
	assert_string_equal(FIRED("MESSAGE=not slow"), "");
	assert_string_equal(FIRED("PRIORITY=3", "OTHER=slow"), "");
}

TRIGGER_TEST(a_unit_by_a_pattern)
{
	Pb__SystemdJournaldConfig__Trigger *c = add("db");

	c->unit = (char *)"postgresql*";
	c->message = (char *)"FATAL";
	make();
	assert_string_equal(FIRED("_SYSTEMD_UNIT=postgresql@15.service", "MESSAGE=FATAL: x"), "db");
	assert_string_equal(FIRED("_SYSTEMD_UNIT=ssh.service", "MESSAGE=FATAL: x"), "");
	/* Only systemd writes of other units. */
	assert_string_equal(FIRED("_PID=1", "UNIT=postgresql.service", "MESSAGE=FATAL"), "db");
	assert_string_equal(FIRED("_PID=77", "UNIT=postgresql.service", "MESSAGE=FATAL"), "");
}

TRIGGER_TEST(a_unit_that_failed_is_said_by_systemd_alone)
{
	Pb__SystemdJournaldConfig__Trigger *c;

	add("any")->unit_failed = true;
	c = add("web");
	c->unit_failed = true;
	c->unit = (char *)"nginx.service";
	make();
	assert_string_equal(FIRED(FAILED, "_PID=1", "UNIT=nginx.service"), "any web");
	assert_string_equal(FIRED(FAILED, "_PID=1", "UNIT=ssh.service"), "any");
	assert_string_equal(FIRED(FAILED, "_PID=1234", "UNIT=nginx.service"), "");
	assert_string_equal(FIRED(FAILED, "UNIT=nginx.service", "_SYSTEMD_UNIT=nginx.service"), "");
	assert_string_equal(FIRED("MESSAGE_ID=0", "_PID=1", "UNIT=nginx.service"), "");
}

TRIGGER_TEST(nothing_stays_of_an_entry)
{
	Pb__SystemdJournaldConfig__Trigger *c = add("x");

	c->unit = (char *)"a";
	c->message = (char *)"b";
	make();
	assert_string_equal(FIRED("_SYSTEMD_UNIT=a"), "");
	assert_string_equal(FIRED("MESSAGE=b"), "");
	assert_string_equal(FIRED("MESSAGE=b", "_SYSTEMD_UNIT=a"), "x");
}

TRIGGER_TEST(a_trigger_fires_once_a_second)
{
	const char *const *names;

	add("x")->message = (char *)"b";
	make();
	assert_string_equal(FIRED("MESSAGE=b"), "x");
	journald_triggers_add_field(t, "MESSAGE=b", 9);
	assert_int_equal(journald_triggers_end_entry(t, now + 10, &names), 0);
	journald_triggers_add_field(t, "MESSAGE=b", 9);
	assert_int_equal(journald_triggers_end_entry(t, now + JOURNALD_TRIGGER_PAUSE_NS, &names),
			 1);
}

TRIGGER_TEST(bytes_of_any_form)
{
	char big[70000];
	const char *const *names;

	add("x")->message = (char *)"(a|b)*c";
	add("y")->unit = (char *)"*";
	make();
	memset(big, 'a', sizeof(big));
	memcpy(big, "MESSAGE=", 8);
	journald_triggers_add_field(t, big, sizeof(big));
	memcpy(big, "_SYSTEMD_UNIT=", 14);
	journald_triggers_add_field(t, big, sizeof(big));
	journald_triggers_add_field(t, "", 0);
	journald_triggers_add_field(t, "=", 1);
	journald_triggers_add_field(t, "MESSAGE", 7);
	journald_triggers_add_field(t, "UNIT=a\0b", 8);
	assert_int_equal(journald_triggers_end_entry(t, ++now, &names),
			 1); /* y: no unit is one for "*" */
}

TRIGGER_TEST(triggers_that_are_not_valid_are_left_out)
{
	add("")->unit_failed = true;
	add("nothing");
	add("bad")->message = (char *)"(";
	add("good")->message = (char *)"a";
	assert_int_equal(journald_triggers_new(&config, &errors, &t), 0);
	assert_string_equal(errors.s, "triggers[0] is ignored: name is missing");
	assert_string_equal(FIRED("MESSAGE=a"), "good");
}

TRIGGER_TEST(too_many_triggers)
{
	for (unsigned i = 0; i <= JOURNALD_TRIGGERS_MAX; i++)
		add("x")->unit_failed = true;
	assert_int_equal(journald_triggers_new(&config, &errors, &t), 0);
	assert_non_null(
		strstr(errors.s, "triggers[32] is ignored: too many triggers; the limit is 32"));
}

TRIGGER_TEST(no_valid_trigger_is_none)
{
	add("nothing");
	assert_int_equal(journald_triggers_new(&config, &errors, &t), 0);
	assert_null(t);
}
