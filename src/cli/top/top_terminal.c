/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/top/top_terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/system/fs.h"
#include "base/text/str.h"
#include "cli/top/top_view.h"

/* Alternate screen, no cursor, no wrap at the right edge; then the reverse of all this. */
#define ENTER "\033[?1049h\033[?25l\033[?7l"
#define LEAVE "\033[?7h\033[?25h\033[?1049l"
#define HOME "\033[H"
#define CLEAR_LINE "\033[K"
#define CLEAR_BELOW "\033[J"
#define REVERSE "\033[7m"
#define BOLD "\033[1m"
#define RED "\033[31m"
#define NORMAL "\033[0m"

#define DEFAULT_WIDTH 80
#define DEFAULT_HEIGHT 24

struct top_terminal {
	int fd; /* owned; a descriptor of its own, so that others do not become non-blocking */
	struct termios before; /* of standard input */
	bool has_keys; /* standard input is a terminal */
	bool is_ours;
	bool color;
};

void top_terminal_enter(struct top_terminal *t)
{
	struct termios raw = t->before;

	if (t->is_ours)
		return;
	t->is_ours = true;
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	raw.c_cc[VMIN] = 1;
	raw.c_cc[VTIME] = 0;
	if (t->has_keys)
		tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
	fs_write_all(STDOUT_FILENO, ENTER, sizeof(ENTER) - 1);
}

void top_terminal_restore(struct top_terminal *t)
{
	if (!t->is_ours)
		return;
	t->is_ours = false;
	/* TCSANOW: output that the terminal does not accept must not block the end. */
	if (t->has_keys)
		tcsetattr(STDIN_FILENO, TCSANOW, &t->before);
	top_write(t->fd, LEAVE, sizeof(LEAVE) - 1, -1);
}

int top_terminal_new(bool color, struct top_terminal **ret)
{
	struct top_terminal *t = calloc(1, sizeof(*t));
	char path[PATH_MAX];

	if (!t)
		return -ENOMEM;
	t->color = color;
	t->fd = ttyname_r(STDOUT_FILENO, path, sizeof(path))
			? -1
			: open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (t->fd < 0)
		t->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
	if (t->fd < 0) {
		free(t);
		return -errno;
	}
	t->has_keys = isatty(STDIN_FILENO) && tcgetattr(STDIN_FILENO, &t->before) == 0;
	top_terminal_enter(t);
	*ret = t;
	return 0;
}

void top_terminal_free(struct top_terminal *t)
{
	if (!t)
		return;
	top_terminal_restore(t);
	closep(&t->fd);
	free(t);
}

void top_terminal_size(const struct top_terminal *t, size_t *ret_width, size_t *ret_height)
{
	struct winsize size;
	bool known = ioctl(t->fd, TIOCGWINSZ, &size) == 0;

	*ret_width = known && size.ws_col ? size.ws_col : DEFAULT_WIDTH;
	*ret_height = known && size.ws_row ? size.ws_row : DEFAULT_HEIGHT;
}

/* ---- output ---- */

/* A pipe that is ready for writing has room for PIPE_BUF bytes (pipe(7)). */
#define STEP PIPE_BUF
#define PATIENCE_MS 1000 /* for the last output, when no signal can interrupt it */

/* Waits until fd accepts output. Returns 0, or -EAGAIN. */
static int await_writable(int fd, int signals)
{
	struct pollfd fds[] = {{.fd = fd, .events = POLLOUT}, {.fd = signals, .events = POLLIN}};
	int r;

	do
		r = poll(fds, 2, signals < 0 ? PATIENCE_MS : -1);
	while (r < 0 && errno == EINTR);
	return fds[0].revents ? 0 : -EAGAIN;
}

int top_write(int fd, const char *data, size_t len, int signals)
{
	while (len) {
		ssize_t n;

		if (await_writable(fd, signals))
			return -EAGAIN;
		n = write(fd, data, MIN(len, (size_t)STEP));
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return -errno;
		if (n > 0) {
			data += n;
			len -= (size_t)n;
		}
	}
	return 0;
}

/* Appends at most width characters of UTF-8. */
static void put_truncated(const char *text, size_t len, size_t width, struct strbuf *b)
{
	size_t n = 0;

	for (; n < len; n++) {
		bool begins = ((unsigned char)text[n] & 0xc0) != 0x80;

		if (begins && !width--)
			break;
	}
	strbuf_add(b, text, n);
}

static const char *style_sequence(const struct top_terminal *t, char style)
{
	if (!t->color)
		return "";
	return style == TOP_TITLE      ? REVERSE
	       : style == TOP_ALERT    ? RED
	       : style == TOP_SELECTED ? BOLD
				       : "";
}

int top_terminal_draw(struct top_terminal *t, const char *lines, int signals)
{
	size_t width, height;
	struct strbuf b = {0};
	const char *end;
	int r;

	if (!t->is_ours)
		return 0;
	top_terminal_size(t, &width, &height);
	strbuf_puts(&b, HOME);
	for (size_t row = 0; *lines && row < height; row++, lines = end) {
		const char *style = style_sequence(t, *lines);

		end = strchrnul(++lines, '\n');
		if (row)
			strbuf_puts(&b, "\r\n");
		strbuf_puts(&b, style);
		put_truncated(lines, (size_t)(end - lines), width, &b);
		strbuf_puts(&b, CLEAR_LINE);
		if (*style)
			strbuf_puts(&b, NORMAL);
		end += *end == '\n';
	}
	strbuf_puts(&b, CLEAR_BELOW);
	r = b.failed ? -ENOMEM : top_write(t->fd, b.s, b.len, signals);
	strbuf_deinit(&b);
	return r;
}
