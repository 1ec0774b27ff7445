/* SPDX-License-Identifier: Apache-2.0 */

#include "unit/test.h"
#include "cli/cmd_sessions.c"
#include "unit/proto_text.h"

/* What a writer makes of a state. */
static void check(void (*write)(const Pb__TracingServiceState *, struct strbuf *),
		  const char *state, const char *expected)
{
	ProtobufCMessage *m = proto_parse(&pb__tracing_service_state__descriptor, state);
	struct strbuf text = {0};

	write((Pb__TracingServiceState *)m, &text);
	assert_string_equal(text.s ? text.s : "", expected);
	strbuf_deinit(&text);
	protobuf_c_message_free_unpacked(m, NULL);
}

TEST(sessions_are_a_table)
{
	check(state_text_sessions,
	      "tracing_sessions { id: 3 consumer_uid: 1000 state: 'STARTED' duration_ms: 1500"
	      "  buffer_size_kb: [32768, 1024] num_data_sources: 2 unique_session_name: "
	      "'a\\033[31m' }"
	      "tracing_sessions { id: 12 state: 'CLONED_READ_ONLY' } num_sessions: 5",
	      "ID    UID    STATE            STARTED   DURATION   BUFFERS   SOURCES  NAME\n"
	      "3     1000   STARTED          -         1.5 s      33 MiB    2        a?[31m\n"
	      "12    0      CLONED_READ_ONLY -         -          0 B       0        \n"
	      "3 sessions of other users (visible to them and to root)\n");
}

TEST(none_is_said)
{
	check(state_text_sessions, "", "there are no sessions\n");
}

TEST(producers_and_their_sources)
{
	check(state_text_producers,
	      "producers { id: 1 pid: 77 name: 'me' }"
	      "data_sources { producer_id: 1 ds_descriptor { name: 'linux.ftrace' } }"
	      "data_sources { producer_id: 9 }",
	      "PRODUCER  PID      UID    NAME\n"
	      "1         77       0      me\n"
	      "\n"
	      "DATA SOURCE                       OF\n"
	      "linux.ftrace                      me (1)\n"
	      "                                  ? (9)\n");
}

TEST(producers_of_other_machines_have_the_name_of_their_machine)
{
	check(state_text_producers,
	      "producers { id: 1 name: 'me' }"
	      "producers { id: 2 pid: 78 name: 'sonda-probes' machine_id: 5 machine_name: "
	      "'gu\\nest' }"
	      "producers { id: 3 name: 'other' machine_id: 4000000000 }",
	      "PRODUCER  PID      UID    MACHINE             NAME\n"
	      "1         0        0      this one            me\n"
	      "2         78       0      gu?est              sonda-probes\n"
	      "3         0        0      4000000000          other\n"
	      "\n"
	      "DATA SOURCE                       OF\n");
}

#define CATEGORIES                                                                                 \
	"ds_descriptor { track_event_descriptor {"                                                 \
	"  available_categories { name: 'net' description: 'Requests' }"                           \
	"  available_categories { }"                                                               \
	"  available_categories { name: 'disk' tags: ['slow', 'io'] } } }"

TEST(categories_of_programs_are_sorted_and_equal_ones_are_one_line)
{
	check(state_text_categories, "", "");
	check(state_text_categories,
	      "producers { id: 1 name: 'web' } producers { id: 2 name: 'web' }"
	      "producers { id: 3 name: 'other\\033' }"
	      "data_sources { producer_id: 1 " CATEGORIES " }"
	      "data_sources { producer_id: 2 " CATEGORIES " }"
	      "data_sources { producer_id: 3 " CATEGORIES " }",
	      "\n"
	      "CATEGORY                  TAGS        OF                            DESCRIPTION\n"
	      "disk                      slow,io     other?\n"
	      "disk                      slow,io     web (2)\n"
	      "net                       -           other?                        Requests\n"
	      "net                       -           web (2)                       Requests\n");
}

TEST(nobody_records)
{
	Pb__TracingServiceState s = PB__TRACING_SERVICE_STATE__INIT;
	struct strbuf text = {0};

	state_text_producers(&s, &text);
	assert_true(str_starts(text.s, "no producer is connected; run: sudo "));
	strbuf_deinit(&text);
}
