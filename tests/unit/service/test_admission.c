/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "config/limits.h"
#include "rig.h"
#include "service/admission.h"

static struct err_text e;

static int setup(void **state)
{
	struct rig *r = malloc(sizeof(*r));

	assert_non_null(r);
	rig_init(r);
	*state = r;
	return 0;
}

static int teardown(void **state)
{
	rig_deinit(*state);
	free(*state);
	return 0;
}

static int admit(struct rig *r, const char *text, uid_t uid)
{
	Pb__TraceConfig *c = peer_parse_config(text);
	int error;

	e.text[0] = '\0';
	error = admission_check(r->service, c, uid, &e);
	pb__trace_config__free_unpacked(c, NULL);
	return error;
}

static void remember(struct rig *r, const char *text)
{
	Pb__TraceConfig *c = peer_parse_config(text);

	admission_remember(r->service, c);
	pb__trace_config__free_unpacked(c, NULL);
}

/* A session that is there already, of another consumer. */
static struct peer *other_session(struct rig *r, const char *text)
{
	struct peer *p = rig_consumer(r);

	peer_enable(p, text);
	assert_true(peer_is_quiet(p));
	return p;
}

static void sessions_of_a_user_are_counted(void **state)
{
	struct rig *r = *state;
	struct peer *p[LIMIT_SESSIONS_PER_UID];

	for (int i = 0; i < LIMIT_SESSIONS_PER_UID; i++) {
		assert_int_equal(admit(r, "", getuid()), 0);
		p[i] = other_session(r, "buffers { size_kb: 4 }");
	}
	assert_int_equal(admit(r, "", getuid()), -EBUSY);
	assert_non_null(strstr(e.text, "5"));
	assert_int_equal(admit(r, "", getuid() + 1), 0);
	rig_hang_up(r, p[0]);
	assert_int_equal(admit(r, "", getuid()), 0);
	for (int i = 1; i < LIMIT_SESSIONS_PER_UID; i++)
		rig_hang_up(r, p[i]);
}

static void sessions_of_all_are_counted(void **state)
{
	struct rig *r = *state;
	struct session s[LIMIT_SESSIONS] = {0};
	static Pb__TraceConfig config = PB__TRACE_CONFIG__INIT;

	for (int i = 0; i < LIMIT_SESSIONS; i++) {
		assert_int_equal(admit(r, "", 99), 0);
		s[i].config = &config;
		s[i].uid = (uid_t)i;
		TAILQ_INSERT_TAIL(&r->service->sessions, &s[i], link);
	}
	assert_int_equal(admit(r, "", 99), -EBUSY);
	assert_non_null(strstr(e.text, "15"));
	TAILQ_INIT(&r->service->sessions);
}

static void unique_name_is_unique_in_any_state(void **state)
{
	struct rig *r = *state;
	struct peer *p = other_session(r, "unique_session_name: 'one' buffers { size_kb: 4 }");

	assert_int_equal(admit(r, "unique_session_name: 'one'", 99), -EBUSY);
	assert_non_null(strstr(e.text, "one"));
	assert_int_equal(admit(r, "unique_session_name: 'two'", 99), 0);
	assert_int_equal(admit(r, "unique_session_name: ''", 99), 0);
	session_disable(rig_session(r), true);
	assert_int_equal(admit(r, "unique_session_name: 'one'", 99), -EBUSY);
	rig_hang_up(r, p);
	assert_int_equal(admit(r, "unique_session_name: 'one'", 99), 0);
}

static void guardrail_keeps_sessions_apart_in_time(void **state)
{
	struct rig *r = *state;

	remember(r, "unique_session_name: 'again'");
	assert_int_equal(admit(r, "unique_session_name: 'again'", 1), 0);
	assert_int_equal(admit(r, "unique_session_name: 'again' enable_extra_guardrails: true", 1),
			 -EBUSY);
	assert_non_null(strstr(e.text, "300 s"));
	assert_int_equal(admit(r, "unique_session_name: 'x' enable_extra_guardrails: true", 1), 0);
	assert_int_equal(admit(r, "enable_extra_guardrails: true", 1), 0);
	remember(r, "");
	assert_int_equal(admit(r, "enable_extra_guardrails: true", 1), -EBUSY);
}

static void only_so_many_are_remembered(void **state)
{
	struct rig *r = *state;
	char text[96];

	for (int i = 0; i < 1000; i++) {
		snprintf(text, sizeof(text), "unique_session_name: 'n%d'", i);
		remember(r, text);
	}
	assert_int_equal(admit(r, "unique_session_name: 'n0' enable_extra_guardrails: true", 1), 0);
	assert_int_equal(admit(r, "unique_session_name: 'n999' enable_extra_guardrails: true", 1),
			 -EBUSY);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(sessions_of_a_user_are_counted),
		TEST(sessions_of_all_are_counted),
		TEST(unique_name_is_unique_in_any_state),
		TEST(guardrail_keeps_sessions_apart_in_time),
		TEST(only_so_many_are_remembered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
