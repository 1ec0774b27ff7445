/* SPDX-License-Identifier: Apache-2.0 */

#include "unit/test.h"
#include "cli/cmd_sessions.c"

typedef Pb__TracingServiceState__TracingSession session;

static void assert_lines(struct strbuf *text, const char *expected)
{
	assert_non_null(text->s);
	assert_string_equal(text->s, expected);
	strbuf_deinit(text);
}

TEST_WITH(sessions_are_a_table, NULL, NULL)
{
	Pb__TracingServiceState s = PB__TRACING_SERVICE_STATE__INIT;
	session one = PB__TRACING_SERVICE_STATE__TRACING_SESSION__INIT, two = one;
	session *list[] = {&one, &two};
	uint32_t sizes[] = {32768, 1024};
	struct strbuf text = {0};

	one.id = 3;
	one.consumer_uid = 1000;
	one.state = (char *)"STARTED";
	one.duration_ms = 1500;
	one.n_buffer_size_kb = 2;
	one.buffer_size_kb = sizes;
	one.num_data_sources = 2;
	one.unique_session_name = (char *)"a\x1b[31m";
	two.id = 12;
	two.state = (char *)"CLONED_READ_ONLY";
	s.tracing_sessions = list;
	s.n_tracing_sessions = 2;
	s.num_sessions = 5;
	state_text_sessions(&s, &text);
	assert_lines(
		&text,
		"ID    UID    STATE            STARTED   DURATION   BUFFERS   SOURCES  NAME\n"
		"3     1000   STARTED          -         1.5 s      33 MiB    2        a?[31m\n"
		"12    0      CLONED_READ_ONLY -         -          0 B       0        \n"
		"3 sessions of other users (visible to them and to root)\n");
}

TEST(none_is_said)
{
	Pb__TracingServiceState s = PB__TRACING_SERVICE_STATE__INIT;
	struct strbuf text = {0};

	state_text_sessions(&s, &text);
	assert_lines(&text, "there are no sessions\n");
}

TEST(producers_and_their_sources)
{
	Pb__TracingServiceState s = PB__TRACING_SERVICE_STATE__INIT;
	Pb__TracingServiceState__Producer p = PB__TRACING_SERVICE_STATE__PRODUCER__INIT,
					  *ps[] = {&p};
	Pb__TracingServiceState__DataSource known = PB__TRACING_SERVICE_STATE__DATA_SOURCE__INIT,
					    stray = known, *ds[] = {&known, &stray};
	Pb__DataSourceDescriptor d = PB__DATA_SOURCE_DESCRIPTOR__INIT;
	struct strbuf text = {0};

	p.id = 1;
	p.pid = 77;
	p.name = (char *)"me";
	d.name = (char *)"linux.ftrace";
	known.ds_descriptor = &d;
	known.producer_id = 1;
	stray.producer_id = 9;
	s.producers = ps;
	s.n_producers = 1;
	s.data_sources = ds;
	s.n_data_sources = 2;
	state_text_producers(&s, &text);
	assert_lines(&text, "PRODUCER  PID      UID    NAME\n"
			    "1         77       0      me\n"
			    "\n"
			    "DATA SOURCE                       OF\n"
			    "linux.ftrace                      me (1)\n"
			    "                                  ? (9)\n");
}

TEST(categories_of_programs_are_sorted_and_equal_ones_are_one_line)
{
	Pb__TracingServiceState s = PB__TRACING_SERVICE_STATE__INIT;
	Pb__TracingServiceState__Producer web = PB__TRACING_SERVICE_STATE__PRODUCER__INIT,
					  web2 = web, other = web, *ps[] = {&web, &web2, &other};
	Pb__TracingServiceState__DataSource a = PB__TRACING_SERVICE_STATE__DATA_SOURCE__INIT, b = a,
					    c = a, *ds[] = {&a, &b, &c};
	Pb__DataSourceDescriptor d = PB__DATA_SOURCE_DESCRIPTOR__INIT;
	Pb__TrackEventDescriptor t = PB__TRACK_EVENT_DESCRIPTOR__INIT;
	Pb__TrackEventCategory net = PB__TRACK_EVENT_CATEGORY__INIT, disk = net, unnamed = net,
			       *list[] = {&net, &unnamed, &disk};
	char *tags[] = {(char *)"slow", (char *)"io"};
	struct strbuf text = {0};

	state_text_categories(&s, &text);
	assert_null(text.s);
	web.id = 1;
	web2.id = 2;
	web.name = web2.name = (char *)"web";
	other.id = 3;
	other.name = (char *)"other\x1b";
	net.name = (char *)"net";
	net.description = (char *)"Requests";
	disk.name = (char *)"disk";
	disk.tags = tags;
	disk.n_tags = 2;
	t.available_categories = list;
	t.n_available_categories = 3;
	d.track_event_descriptor = &t;
	a.ds_descriptor = b.ds_descriptor = c.ds_descriptor = &d;
	a.producer_id = 1;
	b.producer_id = 2;
	c.producer_id = 3;
	s.producers = ps;
	s.n_producers = 3;
	s.data_sources = ds;
	s.n_data_sources = 3;
	state_text_categories(&s, &text);
	assert_lines(&text,
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
