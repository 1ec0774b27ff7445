/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/ebpf/family_rig.h"

#include "bpf/hist.h"
#include "ebpf/histograms/histogram.h"
#include "wire/pb_read.h"

/*
 * The run of a histogram in a kernel that is not one: settings and maps are those of the kernel, the events
 * of the formats are sched_switch and sched_waking of this one.
 */

static struct histogram *histogram;

static int setup(void **state)
{
	int r = rig_setup(state);

	fake_bpf.has_perf_events = true;
	return r;
}

static int teardown(void **state)
{
	int r = rig_end(state);

	histogram_free(histogram);
	histogram = NULL;
	return r;
}

static int start(Pb__EbpfCountersConfig__Histogram *c)
{
	rig_need_btf();
	rig_need_tracefs();
	histogram_free(histogram);
	histogram = NULL;
	if (histogram_new(c, &histogram, &rig.why) < 0)
		fail_msg("%s", rig.why.text);
	return rig_try(histogram_family(histogram));
}

static Pb__EbpfCountersConfig__Histogram by(const char *key)
{
	Pb__EbpfCountersConfig__Histogram c = PB__EBPF_COUNTERS_CONFIG__HISTOGRAM__INIT;

	c.event = (char *)"sched_switch";
	c.field = (char *)"prev_prio";
	c.key = (char *)key;
	return c;
}

/* Adds n values to a bucket of a key. */
static void count(const struct hist_key *key, uint32_t bucket, uint64_t n, int64_t total)
{
	struct fake_map *m = fake_map("counts");
	const struct hist_counts none = {.total = 0};
	struct hist_counts *c;

	if (!fake_find(m, key))
		assert_int_equal(fake_put(m, key, &none), 0);
	c = (struct hist_counts *)fake_find(m, key);
	c->buckets[bucket] += n;
	c->total += total;
}

/* Reads everything, whether it is due or not. Returns the text of the packets. */
static const char *read_text(void)
{
	static char text[4096];
	size_t len = 0, from = fake.n;

	rig.run.is_asked_for_all = true;
	assert_int_equal(rig_read(), 0);
	text[0] = '\0';
	for (size_t i = from; i < fake.n; i++) {
		struct pb_field packet = fake_packet_field(i);
		struct pb_field h = pb_inner_field(&packet, PB_TRACE_PACKET_EVENT_HISTOGRAM);
		uint64_t no_key = 0, no_begin = 0;

		pb_read(&h, PB_TO(PB_EVENT_HISTOGRAM_NO_KEY, &no_key),
			PB_TO(PB_EVENT_HISTOGRAM_NO_BEGIN, &no_begin));
		pb_for_each (f, &h) {
			struct pb_field key = {0}, buckets = {0};
			uint64_t number = 0, total = 0, a, b;

			if (f.id != PB_EVENT_HISTOGRAM_ROWS)
				continue;
			pb_read(&f, PB_TO(PB_EVENT_HISTOGRAM_ROW_TEXT, &key),
				PB_TO(PB_EVENT_HISTOGRAM_ROW_NUMBER, &number),
				PB_TO(PB_EVENT_HISTOGRAM_ROW_TOTAL, &total),
				PB_TO(PB_EVENT_HISTOGRAM_ROW_BUCKETS, &buckets));
			len += (size_t)snprintf(
				text + len, sizeof(text) - len, "%.*s%lld:%lld", (int)key.len,
				key.data ? (const char *)key.data : "",
				(long long)pb_unzigzag(number), (long long)pb_unzigzag(total));
			for (struct pb_packed p = pb_packed_of(&buckets);
			     pb_packed_next(&p, &a) && pb_packed_next(&p, &b);)
				len += (size_t)snprintf(text + len, sizeof(text) - len, " %u=%u",
							(unsigned)a, (unsigned)b);
			len += (size_t)snprintf(text + len, sizeof(text) - len, ";");
		}
		if (no_key || no_begin)
			len += (size_t)snprintf(text + len, sizeof(text) - len, "lost %u %u;",
						(unsigned)no_key, (unsigned)no_begin);
	}
	return text;
}

#define FIXTURE_TEST(name) TEST_WITH(name, setup, teardown)

FIXTURE_TEST(what_was_added_since_the_last_packet)
{
	Pb__EbpfCountersConfig__Histogram c = by("pid");
	const struct hist_key first = {.number = 7}, second = {.number = -1};

	assert_int_equal(start(&c), 0);
	count(&first, 3, 2, 5);
	count(&first, 9, 1, 130);
	assert_string_equal(read_text(), "7:135 3=2 9=1;");
	assert_string_equal(read_text(), "");
	count(&first, 9, 4, 600);
	count(&second, 0, 1, -3);
	assert_string_equal(read_text(), "7:600 9=4;-1:-3 0=1;");
}

FIXTURE_TEST(texts_are_keys)
{
	Pb__EbpfCountersConfig__Histogram c = by("comm");
	struct hist_key key = {.text = "make"};

	assert_int_equal(start(&c), 0);
	count(&key, 2, 1, 1);
	memcpy(key.text, "sixteen-bytes-00", HIST_KEY_SIZE);
	count(&key, 2, 1, 1);
	assert_string_equal(read_text(), "make0:1 2=1;sixteen-bytes-000:1 2=1;");
}

/* A trace shows that there was no value. */
FIXTURE_TEST(a_histogram_without_values_has_one_packet)
{
	Pb__EbpfCountersConfig__Histogram c = by(NULL);

	assert_int_equal(start(&c), 0);
	assert_string_equal(read_text(), "");
	assert_int_equal(fake.n, 1);
	read_text();
	assert_int_equal(fake.n, 1);
}

FIXTURE_TEST(losses_are_in_a_packet_and_among_the_errors)
{
	Pb__EbpfCountersConfig__Histogram c = by("pid");
	struct hist_cpu *cpu;

	assert_int_equal(start(&c), 0);
	cpu = fake_value("cpus", 2);
	cpu->no_key = 5;
	cpu->no_begin = 1;
	assert_string_equal(read_text(), "lost 5 1;");
	assert_int_equal(rig.errors.n, 2);
	assert_int_equal(rig.errors.all[0].count, 5);
	assert_string_equal(read_text(), "");
}

FIXTURE_TEST(a_packet_has_a_limit_of_rows)
{
	Pb__EbpfCountersConfig__Histogram c = by("pid");

	assert_int_equal(start(&c), 0);
	for (int64_t i = 0; i < HISTOGRAM_ROWS_EACH + 1; i++)
		count(&(struct hist_key){.number = i}, 1, 1, 0);
	read_text();
	assert_int_equal(fake.n, 2);
}

FIXTURE_TEST(a_read_that_is_not_due_writes_nothing)
{
	Pb__EbpfCountersConfig__Histogram c = by("pid");

	assert_int_equal(start(&c), 0);
	count(&(struct hist_key){.number = 1}, 1, 1, 0);
	assert_int_equal(rig_read(), 0);
	assert_int_equal(fake.n, 0);
}

FIXTURE_TEST(sizes_of_maps)
{
	Pb__EbpfCountersConfig__Histogram c = by("pid");

	c.max_keys = 17;
	assert_int_equal(start(&c), 0);
	assert_int_equal(fake_map("counts")->max_entries, 17);
	assert_int_equal(fake_map("begun")->max_entries, 1);
	rig_stop_and_forget();
	fake_bpf.has_perf_events = true;
	c.field = NULL;
	c.end_event = (char *)"sched_waking";
	assert_int_equal(start(&c), 0);
	assert_int_equal(fake_map("begun")->max_entries, HIST_BEGUN);
}

FIXTURE_TEST(what_the_kernel_lacks_is_said)
{
	Pb__EbpfCountersConfig__Histogram c = by("pid");

	c.field = (char *)"prev_nothing";
	assert_true(start(&c) < 0);
	assert_non_null(strstr(rig.why.text, "has no field 'prev_nothing'"));
	c.event = (char *)"no_such_event";
	assert_true(start(&c) < 0);
	assert_non_null(strstr(rig.why.text, "the kernel has no event no_such_event"));
}
