// SPDX-License-Identifier: Apache-2.0
/* The tables of perfetto --query; those of Perfetto are compared in
 * tests/interop/test_perfetto_cli.sh. */
#include "unit/test.h"
#include "unit/proto_text.h"
#include "cli/perfetto/perfetto_query.h"

static void query(bool whole, struct strbuf *out)
{
	ProtobufCMessage *state = proto_parse(
		&pb__tracing_service_state__descriptor,
		"data_sources { ds_descriptor { name: 'track_event' track_event_descriptor {"
		"  available_categories { name: 'http.requests.in' }"
		"  available_categories { name: 'alpha' }"
		"  available_categories { name: 'database_transactions' } } } }");

	perfetto_query_text((Pb__TracingServiceState *)state, whole, out);
	protobuf_c_message_free_unpacked(state, NULL);
}

TEST(categories_of_a_data_source_are_cut_unless_all_are_wanted)
{
	struct strbuf text = {0};

	query(false, &text);
	assert_non_null(strstr(text.s, " http.requests.in,alpha,database_transact... (use --long "
				       "to expand)\n"));
	strbuf_deinit(&text);
	query(true, &text);
	assert_non_null(strstr(text.s, " http.requests.in,alpha,database_transactions\n"));
	strbuf_deinit(&text);
}
