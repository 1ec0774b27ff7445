/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/terminal/console.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
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
	console_set_color(c, "auto");
}

int console_set_color(struct console *c, const char *when)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	if (!strcmp(when, "always"))
		c->color = true;
	else if (!strcmp(when, "never"))
		c->color = false;
	else if (!strcmp(when, "auto"))
		c->color = c->tty && !(no && *no) && term && strcmp(term, "dumb") != 0;
	else
		return -EINVAL;
	return 0;
}

#define RED "\033[31m"
#define PLAIN "\033[0m"

/* Returns true for a line of a summary that reports a loss, or something that is missing. */
static bool needs_attention(const char *line)
{
	static const char *const labels[] = {"  holes  ", "  missing  "};

	for (size_t i = 0; i < ARRAY_SIZE(labels); i++)
		if (str_starts(line, labels[i]))
			return true;
	return str_starts(line, "  lost  ") && !str_starts(line, "  lost     nothing");
}

/* Writes lines; the labels of those that need attention are red. */
static void write_colored(const char *text)
{
	struct strbuf b = {0};
	const char *line = text, *end;

	for (; *line; line = end) {
		size_t label = needs_attention(line) ? 2 + strcspn(line + 2, " ") : 0;

		end = strchrnul(line, '\n');
		end += *end == '\n';
		if (label)
			strbuf_printf(&b, RED "%.*s" PLAIN, (int)label, line);
		strbuf_add(&b, line + label, (size_t)(end - line) - label);
	}
	if (b.s)
		fs_write_all(STDERR_FILENO, b.s, b.len);
	strbuf_deinit(&b);
}

void console_clear_progress(struct console *c)
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
	console_clear_progress(c);
	log_error("%s", line);
}

void console_print(struct console *c, const char *fmt, ...)
{
	char line[1024];
	va_list ap;

	if (c->quiet)
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	console_clear_progress(c);
	log_info("%s", line);
}

void console_error_block(struct console *c, const char *text)
{
	_cleanup_(freep) char *plain = strdup(text);

	console_clear_progress(c);
	if (!plain)
		return;
	str_make_plain(plain, strlen(plain), "\n\t");
	if (c->color)
		write_colored(plain);
	else
		fs_write_all(STDERR_FILENO, plain, strlen(plain));
}

void console_print_block(struct console *c, const char *text)
{
	if (!c->quiet)
		console_error_block(c, text);
}

void console_print_lines(struct console *c, const char *text)
{
	struct strbuf b = {0};
	const char *end;

	for (; *text; text = end) {
		end = strchrnul(text, '\n');
		end += *end != '\0';
		strbuf_puts(&b, *text == ' ' ? "" : "sonda: ");
		strbuf_add(&b, text, (size_t)(end - text));
	}
	if (b.s)
		console_print_block(c, b.s);
	strbuf_deinit(&b);
}

void console_print_line(struct console *c, const char *line)
{
	struct strbuf b = {0};

	strbuf_printf(&b, "%s\n", line);
	if (b.s)
		console_print_block(c, b.s);
	strbuf_deinit(&b);
}

bool console_shows_progress(const struct console *c)
{
	return (c->tty || c->verbose) && !c->quiet;
}

size_t console_columns(int fd)
{
	struct winsize w;

	return ioctl(fd, TIOCGWINSZ, &w) == 0 ? w.ws_col : 0;
}

void console_progress(struct console *c, const char *line)
{
	struct strbuf b = {0};
	size_t len = strlen(line), columns = console_columns(STDERR_FILENO);
	size_t room = (columns ? columns : 80) - 1; /* the last column would wrap */

	if (!console_shows_progress(c))
		return;
	if (!c->tty) {
		console_print(c, "%s", line + strspn(line, " "));
		return;
	}
	strbuf_puts(&b, "\r\033[K");
	strbuf_add(&b, line, len < room ? len : room);
	if (!b.failed)
		fs_write_all(STDERR_FILENO, b.s, b.len);
	strbuf_deinit(&b);
	c->has_progress = true;
}
