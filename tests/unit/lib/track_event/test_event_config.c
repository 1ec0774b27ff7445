/* SPDX-License-Identifier: Apache-2.0 */
/* Which categories a TrackEventConfig enables: the decisions of Perfetto's C++ library. */
#include "lib/track_event/event_config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "gen/fields.h"
#include "unit/test.h"
#include "wire/pb_enc.h"

/* Texts behind the number of their field in TrackEventConfig: 1 disabled_categories, 2
 * enabled_categories, 3 disabled_tags, 4 enabled_tags. */
static struct event_config *config_of(const char *text)
{
	struct event_config *c;
	struct pb_mem m;
	char word[64];
	int used;

	assert_int_equal(pb_mem_init(&m), 0);
	pb_enc_open(&m.enc, PB_DATA_SOURCE_CONFIG_TRACK_EVENT_CONFIG);
	for (; sscanf(text, "%63s%n", word, &used) == 1; text += used)
		pb_enc_str(&m.enc, (uint32_t)(word[0] - '0'), word + 1);
	pb_enc_close(&m.enc);
	assert_int_equal(event_config_new(m.buf, pb_mem_len(&m), &c), 0);
	pb_mem_deinit(&m);
	return c;
}

static void check(const char *config, const char *category, const char *tags, bool enabled)
{
	struct event_config *c = config_of(config);
	const char *list[4] = {NULL};
	char copy[64], *save, *tag;
	size_t n = 0;

	strcpy(copy, tags);
	for (tag = strtok_r(copy, " ", &save); tag; tag = strtok_r(NULL, " ", &save))
		list[n++] = tag;
	if (event_config_enables(c, category, list, 4) != enabled)
		fail_msg("config '%s': '%s' with tags '%s' is not %d", config, category, tags,
			 enabled);
	event_config_free(c);
}

TEST(an_empty_config_enables_all_but_slow_and_debug)
{
	check("", "net", "", true);
	check("", "net", "other", true);
	check("", "net", "slow", false);
	check("", "net", "debug", false);
}

TEST(a_tag_stated_in_full_comes_before_the_pattern_for_all)
{
	check("2*", "net", "", true);
	check("2*", "net", "slow", false);
	check("2net", "net", "slow", true);
}

TEST(disabled_all_leaves_what_is_named)
{
	check("1* 2a", "a", "", true);
	check("1* 2a", "a", "slow", true);
	check("1* 2a", "b", "", false);
}

TEST(a_full_name_comes_before_a_prefix)
{
	check("2a* 1ab", "ab", "", false);
	check("2a* 1ab", "ac", "", true);
	check("1a* 2ab", "ab", "", true);
	check("1a* 2ab", "ac", "", false);
	check("1* 2a*", "ac", "", true);
	check("1* 2a*", "bc", "", false);
}

TEST(in_one_pass_an_enabled_category_wins)
{
	check("1a 2a", "a", "", true);
	check("1a 4t", "a", "t", false);
	check("3t 4t", "a", "t", false);
	check("3t 2a", "a", "t", true);
}

TEST(tags_select_tagged_categories_and_leave_others_on)
{
	check("3* 4t", "a", "t", true);
	check("3* 4t", "a", "u", false);
	check("3* 4t", "a", "", true);
	check("4x", "a", "slow", true);
	check("3slo*", "a", "slow", false);
}

TEST(dynamic_categories_have_no_tags_but_by_their_prefix)
{
	struct event_config *c = config_of("1* 2dyn");

	assert_true(event_config_enables_dynamic(c, "dyn"));
	assert_false(event_config_enables_dynamic(c, "other"));
	assert_true(event_config_enables_dynamic(c, "other,dyn"));
	event_config_free(c);
	c = config_of("");
	assert_true(event_config_enables_dynamic(c, "dyn"));
	assert_false(event_config_enables_dynamic(c, "disabled-by-default-dyn"));
	event_config_free(c);
}

TEST(a_config_that_is_cut_is_refused)
{
	static const uint8_t bytes[] = {0x8a, 0x07, 10, 0x28, 1};
	struct event_config *c;

	assert_int_equal(event_config_new(bytes, sizeof(bytes), &c), -EBADMSG);
	assert_int_equal(event_config_new(NULL, 0, &c), 0);
	assert_int_equal(c->unit_multiplier, 1);
	event_config_free(c);
}

TEST(numbers_are_read_and_a_multiplier_of_0_is_1)
{
	static const uint8_t bytes[] = {0x8a, 0x07, 12, /* bytes */
					0x28, 1,    0x30, 0, 0x38, 1, 0x40, 1, 0x48, 1, 0x50, 9};
	struct event_config *c;

	assert_int_equal(event_config_new(bytes, sizeof(bytes), &c), 0);
	assert_true(c->disable_incremental_timestamps);
	assert_true(c->filter_debug_annotations);
	assert_true(c->enable_thread_time_sampling);
	assert_true(c->filter_dynamic_event_names);
	assert_int_equal(c->unit_multiplier, 1);
	assert_int_equal(c->thread_time_subsampling_ns, 9);
	event_config_free(c);
}
