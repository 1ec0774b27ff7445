// SPDX-License-Identifier: Apache-2.0

#include "cli/terminal/console.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/system/fs.h"
#include "base/system/log.h"
#include "base/text/str.h"

void console_init(struct console *c, bool quiet)
{
	*c = (struct console){.tty = isatty(STDERR_FILENO), .quiet = quiet};
}

void console_clear(struct console *c)
{
	static const char erase[] = "\r\033[K";

	if (!c->has_progress)
		return;
	c->has_progress = false;
	fs_write_all(STDERR_FILENO, erase, sizeof(erase) - 1);
}

void console_error(struct console *c, const char *fmt, ...)
{
	char line[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	console_clear(c);
	log_error("%s", line);
}

void console_say(struct console *c, const char *fmt, ...)
{
	char line[1024];
	va_list ap;

	if (c->quiet)
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	console_clear(c);
	log_info("%s", line);
}

void console_error_block(struct console *c, const char *text)
{
	_cleanup_(freep) char *plain = strdup(text);

	console_clear(c);
	if (!plain)
		return;
	str_make_plain(plain, strlen(plain), "\n\t");
	fs_write_all(STDERR_FILENO, plain, strlen(plain));
}

void console_block(struct console *c, const char *text)
{
	if (!c->quiet)
		console_error_block(c, text);
}

void console_line(struct console *c, const char *line)
{
	struct strbuf b = {0};

	strbuf_printf(&b, "%s\n", line);
	if (b.s)
		console_block(c, b.s);
	strbuf_deinit(&b);
}

bool console_shows_progress(const struct console *c)
{
	return c->tty && !c->quiet;
}

static size_t columns(void)
{
	struct winsize w;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &w) || !w.ws_col)
		return 80;
	return w.ws_col;
}

void console_progress(struct console *c, const char *line)
{
	struct strbuf b = {0};
	size_t len = strlen(line), room = columns() - 1; /* the last column would wrap */

	if (!console_shows_progress(c))
		return;
	strbuf_puts(&b, "\r\033[K");
	strbuf_add(&b, line, len < room ? len : room);
	if (!b.failed)
		fs_write_all(STDERR_FILENO, b.s, b.len);
	strbuf_deinit(&b);
	c->has_progress = true;
}
