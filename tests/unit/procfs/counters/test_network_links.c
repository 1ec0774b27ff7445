/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/fixture.h"
#include "unit/client/read_tracks.h"
#include "procfs/counters/network_tables.h"

static const struct polled_source_ops ops = {.name = "test"};
static struct polled_source p;
static struct network_links links;

static bool decide(void *ctx, const char *shown, struct track_spec *ret_spec)
{
	*ret_spec = (struct track_spec){.total = true};
	return true;
}

SETUP
{
	fake_reset();
	p = (struct polled_source){.ops = &ops, .writer = writer_new(NULL, 1, WRITER_STALL)};
	links = (struct network_links){.keys = {.decide = decide}};
	network_links_init(&links, &p, TRACK_ROOT);
	assert_int_equal(tracks_new("test", p.writer, &p.tracks), 0);
}

TEARDOWN
{
	network_links_deinit(&links);
	tracks_free(p.tracks);
	writer_free(p.writer);
	fake_reset();
}

/* A pass over the names, each with the pass's number as its bytes; how many were not understood. */
static unsigned pass(const char *const *names)
{
	char text[512] = "x\n face|bytes|bytes\n";
	struct span heading = {text, strlen(text)};
	unsigned bad = 0;

	p.pass++;
	tracks_begin(p.tracks, p.pass);
	assert_int_equal(network_links_begin(&links, &heading), 0);
	for (; *names; names++) {
		int n = snprintf(text, sizeof(text), " %s: %u 7", *names, p.pass);

		bad += network_links_line(&links, (struct span){text, (size_t)n}) < 0;
	}
	network_links_end(&links);
	tracks_end(p.tracks);
	read_tracks();
	return bad;
}

FIXTURE_TEST(interfaces_appear_and_disappear)
{
	assert_int_equal(pass((const char *const[]){"lo", "eth0", NULL}), 0);
	assert_int_equal(links.n, 2);
	pass((const char *const[]){"lo", "veth1", "eth0", NULL});
	assert_int_equal(links.n, 3);
	assert_int_equal(read_last("eth0/rx bytes"), 2);
	pass((const char *const[]){"eth0", NULL});
	assert_int_equal(links.n, 1);
	assert_int_equal(read_count("lo/rx bytes"), 3);
	assert_int_equal(read_last("lo/rx bytes"), 2); /* a total */
	assert_int_equal(read_nth("lo/rx bytes", 2)->ns, 3);
	pass((const char *const[]){NULL});
	assert_int_equal(links.n, 0);
	assert_int_equal(tracks_counts(p.tracks).tracks, 0);
}

FIXTURE_TEST(the_order_may_change)
{
	pass((const char *const[]){"a", "b", "c", NULL});
	pass((const char *const[]){"c", "a", "b", NULL});
	assert_int_equal(links.n, 3);
	assert_int_equal(read_count("b/rx bytes"), 2);
}

FIXTURE_TEST(only_and_except)
{
	char *only[] = {(char[]){"e*"}, (char[]){"lo"}}, *except[] = {(char[]){"eth9*"}};

	assert_int_equal(counter_patterns_init(&links.only, "only", only, 2, NULL), 0);
	assert_int_equal(counter_patterns_init(&links.except, "except", except, 1, NULL), 0);
	pass((const char *const[]){"lo", "eth0", "eth91", "wlan0", "lo1", NULL});
	assert_int_equal(links.n, 2);
	assert_non_null(read_find("eth0"));
	assert_non_null(read_find("lo"));
}

FIXTURE_TEST(truncated_lists_select_nothing_more)
{
	char *longer = malloc(COUNTER_PATTERN_SIZE + 1), *lo[] = {(char[]){"lo"}, longer};

	memset(longer, 'x', COUNTER_PATTERN_SIZE);
	longer[COUNTER_PATTERN_SIZE] = '\0';
	assert_int_equal(counter_patterns_init(&links.only, "only", &lo[1], 1, NULL), 0);
	pass((const char *const[]){"lo", "eth0", NULL});
	assert_int_equal(links.n, 0);
	counter_patterns_deinit(&links.only);
	assert_int_equal(counter_patterns_init(&links.except, "except", lo, 2, NULL), 0);
	pass((const char *const[]){"lo", "eth0", NULL});
	assert_int_equal(links.n, 0);
	free(longer);
}

FIXTURE_TEST(hostile_names)
{
	char longer[300] = {0};

	memset(longer, 'x', 299);
	assert_int_equal(pass((const char *const[]){"\x1b[2J", "a/b", "\xff", longer, NULL}), 1);
	assert_int_equal(links.n, 3);
	assert_non_null(read_find("?[2J"));
	assert_int_equal(read_last("?/tx bytes"), 7);
}

FIXTURE_TEST(too_many_are_left_out)
{
	char line[64];
	struct span heading = {"x\n f|b|b\n", 9};

	p.pass = 1;
	assert_int_equal(network_links_begin(&links, &heading), 0);
	for (unsigned i = 0; i < NETWORK_LINKS_MAX + 2; i++) {
		int n = snprintf(line, sizeof(line), " e%u: 1 2", i);

		assert_int_equal(network_links_line(&links, (struct span){line, (size_t)n}), 0);
	}
	network_links_end(&links);
	tracks_end(p.tracks);
	fake_reset_packets();
	assert_int_equal(links.n, NETWORK_LINKS_MAX);
	assert_int_equal(p.errors.failures, 2);
}
