/* SPDX-License-Identifier: Apache-2.0 */
/* The pages of the help. tests/system/test_top.sh has the screens. */
#include "cli/top/top_view.h"

#include "cli/top/top_columns.h"
#include "unit/test.h"

/* Returns true if a page of the help has the line of the last column, and counts the pages. */
static bool shows_last_column(size_t height, unsigned *ret_pages)
{
	const struct top_state state = {.lost = "", .note = ""};
	struct top_view v = {.help = true};
	bool shown = false;

	*ret_pages = 0;
	do {
		struct strbuf page = {0};

		assert_int_equal(top_view_lines(&v, &state, 80, height, &page), 0);
		shown |= strstr(page.s, top_columns[TOP_COLUMNS - 1].help) != NULL;
		strbuf_deinit(&page);
		++*ret_pages;
	} while (top_view_turn_help_page(&v, height));
	return shown;
}

TEST(help_shows_its_last_line_at_every_height)
{
	size_t lines = top_view_help_lines();
	unsigned pages;

	for (size_t height = 2; height < lines + 3; height++) {
		assert_true(shows_last_column(height, &pages));
		assert_true(pages == 1 || height < lines);
	}
}
