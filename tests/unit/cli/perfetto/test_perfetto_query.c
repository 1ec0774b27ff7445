// SPDX-License-Identifier: Apache-2.0
/* The tables of perfetto --query; those of Perfetto are compared in tests/interop/test_perfetto_cli.sh. */
#include "unit/test.h"
#include "cli/perfetto/perfetto_query.h"

static void query(bool whole, struct strbuf *out)
{
	Pb__TracingServiceState s = PB__TRACING_SERVICE_STATE__INIT;
	Pb__TracingServiceState__DataSource source = PB__TRACING_SERVICE_STATE__DATA_SOURCE__INIT;
	Pb__DataSourceDescriptor d = PB__DATA_SOURCE_DESCRIPTOR__INIT;
	Pb__TrackEventDescriptor t = PB__TRACK_EVENT_DESCRIPTOR__INIT;
	Pb__TrackEventCategory c[3] = {PB__TRACK_EVENT_CATEGORY__INIT,
				       PB__TRACK_EVENT_CATEGORY__INIT,
				       PB__TRACK_EVENT_CATEGORY__INIT};
	Pb__TrackEventCategory *categories[] = {&c[0], &c[1], &c[2]};
	Pb__TracingServiceState__DataSource *sources[] = {&source};

	c[0].name = (char *)"http.requests.in";
	c[1].name = (char *)"alpha";
	c[2].name = (char *)"database_transactions";
	t.available_categories = categories;
	t.n_available_categories = 3;
	d.name = (char *)"track_event";
	d.track_event_descriptor = &t;
	source.ds_descriptor = &d;
	s.data_sources = sources;
	s.n_data_sources = 1;
	perfetto_query_text(&s, whole, out);
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
