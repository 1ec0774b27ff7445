/* SPDX-License-Identifier: Apache-2.0 */
/* What sonda sessions and sonda status print of a state of the service. */
#include "cli/terminal/verb.h"
#include "unit/cli/verb_child.h"

static const char *service_state; /* as text */

static void on_call(struct fake_port *p, const char *method, uint64_t id, const uint8_t *args,
		    size_t len)
{
	Pb__QueryServiceStateResponse m = PB__QUERY_SERVICE_STATE_RESPONSE__INIT;

	assert_string_equal(method, "QueryServiceState");
	m.service_state = (Pb__TracingServiceState *)proto_parse(
		&pb__tracing_service_state__descriptor, service_state);
	fake_reply_msg(p, id, false, &m.base);
	pb__tracing_service_state__free_unpacked(m.service_state, NULL);
}

#define CATEGORIES                                                                                 \
	"ds_descriptor { track_event_descriptor {"                                                 \
	"  available_categories { name: 'net' description: 'Requests' }"                           \
	"  available_categories { }"                                                               \
	"  available_categories { name: 'disk' tags: ['slow', 'io'] } } }"
#define STATUS(rest) "Service: v1\n\nthere are no sessions\n\n" rest

VERB_TEST(a_state_is_printed_as_tables)
{
	static const struct {
		const char *verb, *state, *expected;
	} rows[] = {
		{"sessions", "", "there are no sessions\n"},
		{"sessions",
		 "tracing_sessions { id: 3 consumer_uid: 1000 state: 'STARTED' duration_ms: 1500"
		 "  buffer_size_kb: [32768, 1024] num_data_sources: 2 unique_session_name: "
		 "'a\\033[31m' }"
		 "tracing_sessions { id: 12 state: 'CLONED_READ_ONLY' } num_sessions: 5",
		 "ID    UID    STATE            STARTED   DURATION   BUFFERS   SOURCES  NAME\n"
		 "3     1000   STARTED          -         1.5 s      33 MiB    2        a?[31m\n"
		 "12    0      CLONED_READ_ONLY -         -          0 B       0        \n"
		 "3 sessions of other users (visible only to them and to root)\n"},
		{"status",
		 "tracing_service_version: 'v1' producers { id: 1 pid: 77 name: 'me' }"
		 "data_sources { producer_id: 1 ds_descriptor { name: 'linux.ftrace' } }"
		 "data_sources { producer_id: 9 }",
		 STATUS("PRODUCER  PID      UID    NAME\n"
			"1         77       0      me\n"
			"\n"
			"DATA SOURCE                       PRODUCER\n"
			"linux.ftrace                      me (1)\n"
			"                                  ? (9)\n")},
		/* Producers of other machines have the name or the number of their machine. */
		{"status",
		 "tracing_service_version: 'v1' producers { id: 1 name: 'me' }"
		 "producers { id: 2 pid: 78 name: 'sonda-probes' machine_id: 5 machine_name: "
		 "'gu\\nest' }"
		 "producers { id: 3 name: 'other' machine_id: 4000000000 }",
		 STATUS("PRODUCER  PID      UID    MACHINE             NAME\n"
			"1         0        0      this one            me\n"
			"2         78       0      gu?est              sonda-probes\n"
			"3         0        0      4000000000          other\n"
			"\n"
			"DATA SOURCE                       PRODUCER\n")},
		/* Categories of programs are sorted, and equal ones are one line. */
		{"status",
		 "tracing_service_version: 'v1' producers { id: 1 name: 'web' }"
		 "producers { id: 2 name: 'web' } producers { id: 3 name: 'other\\033' }"
		 "data_sources { producer_id: 1 " CATEGORIES " }"
		 "data_sources { producer_id: 2 " CATEGORIES " }"
		 "data_sources { producer_id: 3 " CATEGORIES " }",
		 STATUS("PRODUCER  PID      UID    NAME\n"
			"1         0        0      web\n"
			"2         0        0      web\n"
			"3         0        0      other?\n"
			"\n"
			"DATA SOURCE                       PRODUCER\n"
			"                                  web (1)\n"
			"                                  web (2)\n"
			"                                  other? (3)\n"
			"\n"
			"CATEGORY                  TAGS        PROGRAM                       "
			"DESCRIPTION\n"
			"disk                      slow,io     other?\n"
			"disk                      slow,io     web (2)\n"
			"net                       -           other?                        "
			"Requests\n"
			"net                       -           web (2)                       "
			"Requests\n")},
	};

	service.port.on_call = on_call;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		bool sessions = !strcmp(rows[i].verb, "sessions");

		service_state = rows[i].state;
		assert_int_equal(verb_run(sessions ? cmd_sessions : cmd_status, rows[i].verb), 0);
		assert_string_equal(out.s, rows[i].expected);
	}
}

VERB_TEST(without_a_producer_the_command_that_starts_one)
{
	service.port.on_call = on_call;
	service_state = "tracing_service_version: 'v1'";
	assert_int_equal(verb_run(cmd_status, "status"), 0);
	assert_true(str_starts(out.s, STATUS("no producer is connected; run: sudo ")));
}

VERB_TEST(a_state_is_printed_as_a_message)
{
	service.port.on_call = on_call;
	service_state = "num_sessions: 5";
	assert_int_equal(verb_run(cmd_sessions, "sessions --json"), 0);
	assert_string_equal(out.s, "{\"num_sessions\":5}\n");
	assert_int_equal(verb_run(cmd_sessions, "sessions --raw"), 0);
	assert_packed_proto(&pb__tracing_service_state__descriptor, out.s, out.len, service_state);
}
