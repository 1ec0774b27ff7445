/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/sql_pager.h"

#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/terminal/pager.h"

static ssize_t sql_pager_write(void *cookie, const char *text, size_t len)
{
	struct sql_pager *p = cookie;

	if (!p->is_direct && p->text.len + len <= SQL_PAGER_BYTES_MAX) {
		strbuf_add(&p->text, text, len);
		return p->text.failed ? 0 : (ssize_t)len;
	}
	if (!p->is_direct) {
		p->is_direct = true;
		if (p->text.len)
			fwrite(p->text.s, 1, p->text.len, stdout);
		strbuf_deinit(&p->text);
	}
	return (ssize_t)fwrite(text, 1, len, stdout);
}

FILE *sql_pager_open(struct sql_pager *p)
{
	*p = (struct sql_pager){.is_direct = false};
	return fopencookie(p, "w", (cookie_io_functions_t){.write = sql_pager_write});
}

/* True if the text and the next prompt fit on the screen, as long as no line is wider than it. */
static bool fits_on_screen(const struct strbuf *text)
{
	struct winsize size = {.ws_row = 0};
	size_t lines = 0;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || !size.ws_row)
		return true;
	for (const char *s = text->s; (s = strchr(s, '\n')); s++)
		lines++;
	return lines < size.ws_row;
}

void sql_pager_close(struct sql_pager *p, FILE *to)
{
	fclose(to);
	if (p->text.len && fits_on_screen(&p->text))
		fwrite(p->text.s, 1, p->text.len, stdout);
	else if (p->text.len)
		pager_show(p->text.s, p->text.len);
	strbuf_deinit(&p->text);
}
