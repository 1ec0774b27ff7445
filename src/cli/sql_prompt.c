/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/sql_prompt.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <histedit.h>
#include <locale.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wchar.h>

#include "analyze/dialect/database.h"
#include "base/core/mem.h"
#include "base/system/log.h"
#include "base/text/str.h"
#include "cli/sql_complete.h"
#include "cli/sql_pager.h"
#include "cli/terminal/verb.h"

/* ---- the history ---- */

/*
 * The history of sonda sql -i: $XDG_STATE_HOME/sonda/sql_history, in ~/.local/state by default.
 *
 * Under sudo(8) the variables may name the home of another user, who could put a link there. So
 * each directory of the path must belong to root or to this user. The last directory and the file
 * must belong to this user. Root follows no link. Otherwise there is no history.
 */

#define PATH_BYTES 3072
#define NAME "sql_history"

static bool sql_history_is_trusted(uid_t owner)
{
	return owner == 0 || owner == geteuid();
}

/* Replaces *dir with its subdirectory `name`, which is created if it is missing. Returns 0 or
 * -errno. */
static int sql_history_open_subdir(int *dir, const char *name)
{
	_cleanup_(closep) int fd = -1;
	struct stat st;
	int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

	if (fstatat(*dir, name, &st, AT_SYMLINK_NOFOLLOW) &&
	    (errno != ENOENT || mkdirat(*dir, name, 0700) ||
	     fstatat(*dir, name, &st, AT_SYMLINK_NOFOLLOW)))
		return -errno;
	if (!sql_history_is_trusted(st.st_uid))
		return -EPERM;
	if (!S_ISLNK(st.st_mode) || geteuid() == 0)
		flags |= O_NOFOLLOW;
	fd = openat(*dir, name, flags);
	if (fd < 0 || fstat(fd, &st))
		return -errno;
	if (!sql_history_is_trusted(st.st_uid))
		return -EPERM;
	close(*dir);
	*dir = TAKE_FD(fd);
	return 0;
}

/* Returns a descriptor of the directory of the history, or -errno. */
static int open_dir(void)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	_cleanup_(closep) int dir = -1;
	char path[PATH_BYTES], *rest;
	struct stat st;
	int n, r;

	if (state && *state == '/')
		n = snprintf(path, sizeof(path), "%s/sonda", state);
	else if (home && *home == '/')
		n = snprintf(path, sizeof(path), "%s/.local/state/sonda", home);
	else
		return -ENOENT;
	if (n < 0 || (size_t)n >= sizeof(path))
		return -ENAMETOOLONG;
	dir = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return -errno;
	for (char *name = strtok_r(path, "/", &rest); name; name = strtok_r(NULL, "/", &rest)) {
		r = sql_history_open_subdir(&dir, name);
		if (r)
			return r;
	}
	if (fstat(dir, &st))
		return -errno;
	return st.st_uid == geteuid() ? TAKE_FD(dir) : -EPERM;
}

/* Returns a descriptor of the file or -errno. */
static int sql_history_open_file(int dir, int flags)
{
	_cleanup_(closep) int fd =
		openat(dir, NAME, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_nlink != 1)
		return -EPERM;
	return TAKE_FD(fd);
}

/* Reads the history, and creates missing directories with mode 0700. Returns a descriptor of the
 * directory for sql_history_save, which the caller closes; or -errno: there is no such
 * directory. */
static int sql_history_load(History *history_of)
{
	_cleanup_(closep) int fd = -1;
	int dir = open_dir();
	HistEvent event;
	char path[32];

	fd = dir < 0 ? -1 : sql_history_open_file(dir, O_RDONLY);
	if (fd >= 0) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		history(history_of, &event, H_LOAD, path);
	}
	return dir;
}

/* Writes the history, with mode 0600 if the file is new. Does nothing if directory < 0. */
static void sql_history_save(History *history_of, int dir)
{
	_cleanup_(closep) int fd = dir < 0 ? -1 : sql_history_open_file(dir, O_WRONLY | O_CREAT);
	HistEvent event;
	FILE *f;

	if (fd < 0 || ftruncate(fd, 0))
		return;
	f = fdopen(fd, "w");
	if (!f)
		return;
	TAKE_FD(fd);
	history(history_of, &event, H_SAVE_FP, f);
	fclose(f);
}

#define HISTORY_LINES 1000
#define LISTED_MAX 200u /* the most words that Tab lists */

struct sql_prompt {
	struct database *database;
	sqlite3 *db; /* of the database */
	enum sql_format format;
	struct strbuf text; /* lines of a statement whose ';' was not typed yet */
	EditLine *el; /* NULL: the input is not a terminal */
	History *history;
	int history_dir; /* owned: descriptor; -errno: none */
	bool quit, failed;
};

/* ---- signals ---- */

static volatile sig_atomic_t interrupted, resized;
static sqlite3 *volatile running;

static void sql_prompt_on_signal(int number)
{
	if (number == SIGWINCH)
		resized = 1;
	else if (running)
		sqlite3_interrupt(running);
	else
		interrupted = 1;
}

static void watch_signals(struct sigaction saved[2])
{
	struct sigaction action = {
		.sa_handler = sql_prompt_on_signal}; /* without SA_RESTART: reads end */

	sigemptyset(&action.sa_mask);
	sigaction(SIGINT, &action, &saved[0]);
	sigaction(SIGWINCH, &action, &saved[1]);
}

static void restore_signals(const struct sigaction saved[2])
{
	sigaction(SIGINT, &saved[0], NULL);
	sigaction(SIGWINCH, &saved[1], NULL);
}

/* ---- statements ---- */

/* Returns an SQLite result code. */
static int print_rows(struct sql_prompt *p, sqlite3_stmt *st)
{
	struct sql_pager pager;
	FILE *to = p->el ? sql_pager_open(&pager) : NULL;
	int r = sql_output(st, p->format, to ? to : stdout);

	running = NULL; /* Ctrl-C is for the pager */
	if (to)
		sql_pager_close(&pager, to);
	running = p->db;
	return r;
}

/* Returns an SQLite result code, and sets e. */
static int run_statements(struct sql_prompt *p, const char *sql, struct err_text *e)
{
	int r = SQLITE_OK;
	size_t at = 0;

	while (sql[at] && r == SQLITE_OK) {
		sqlite3_stmt *st;

		r = database_prepare(p->database, sql, &at, &st, e);
		if (r < 0)
			return r == -EINTR ? SQLITE_INTERRUPT : SQLITE_ERROR;
		if (st)
			r = print_rows(p, st);
		if (r != SQLITE_OK)
			err_set(e, -EINVAL, "%s", sqlite3_errmsg(p->db));
		sqlite3_finalize(st);
	}
	return r;
}

static void sql_prompt_run(struct sql_prompt *p, const char *sql)
{
	struct err_text e, left_out;
	int r;

	running = p->db;
	r = run_statements(p, sql, &e);
	running = NULL;
	fflush(stdout);
	if (database_pop_left_out(p->database, &left_out))
		log_warn("sql: %s", left_out.text);
	if (r == SQLITE_OK)
		return;
	p->failed = true;
	if (r == SQLITE_INTERRUPT)
		fputs("interrupted\n", stderr);
	else
		log_error("sql: %s", e.text);
}

/* ---- commands ---- */

static const char *const formats[] = {
	[SQL_TABLE] = "table",	       [SQL_CSV] = "csv",
	[SQL_JSON] = "json",	       [SQL_RECORDS] = "records",
	[SQL_CSV_SHEET] = "csv=sheet",
};

static void show_tables(struct sql_prompt *p, const char *arg)
{
	struct sql_words tables = {.n = 0};

	sql_complete_tables(p->db, &tables);
	for (size_t i = 0; i < tables.n; i++)
		puts(tables.words[i]);
	sql_words_deinit(&tables);
}

static void show_schema(struct sql_prompt *p, const char *arg)
{
	char *sql = sqlite3_mprintf("SELECT name AS column, type FROM pragma_table_info(%Q)", arg);
	sqlite3_stmt *st = NULL;

	if (!*arg)
		log_error("sql: no table is given; use .schema TABLE");
	else if (!sql || sqlite3_prepare_v2(p->db, sql, -1, &st, NULL) != SQLITE_OK)
		log_error("sql: %s", sqlite3_errmsg(p->db));
	else if (sqlite3_step(st) != SQLITE_ROW)
		log_error("sql: no table is named '%s'; .tables lists all tables", arg);
	else {
		sqlite3_reset(st);
		sql_output(st, p->format, stdout);
		sqlite3_finalize(st);
		sqlite3_free(sql);
		return;
	}
	p->failed = true;
	sqlite3_finalize(st);
	sqlite3_free(sql);
}

static void set_output_mode(struct sql_prompt *p, const char *arg)
{
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++)
		if (!strcmp(arg, formats[i])) {
			p->format = (enum sql_format)i;
			return;
		}
	log_error("sql: the modes are table, records, csv and json");
	p->failed = true;
}

static void toggle_records(struct sql_prompt *p, const char *arg)
{
	p->format = p->format == SQL_RECORDS ? SQL_TABLE : SQL_RECORDS;
}

static void quit_prompt(struct sql_prompt *p, const char *arg)
{
	p->quit = true;
}

static void print_help(struct sql_prompt *p, const char *arg);

static const struct command {
	const char *name, *arg;
	void (*fn)(struct sql_prompt *p, const char *arg);
	const char *what;
} commands[] = {
	{".help", "", print_help, "print this list"},
	{".mode", "MODE", set_output_mode, "print rows as table, records, csv or json"},
	{".quit", "", quit_prompt, "exit, like Ctrl-D"},
	{".schema", "TABLE", show_schema, "print a table's columns"},
	{".tables", "", show_tables, "print all table names"},
	{"\\x", "", toggle_records, "switch between table and records (one line per column)"},
};

static void print_help(struct sql_prompt *p, const char *arg)
{
	puts("An SQL statement may span several lines; it ends with ';'.\n"
	     "Tab completes table and column names. Ctrl-C stops a query, or clears the line.\n");
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		printf("%-8s %-6s %s\n", commands[i].name, commands[i].arg, commands[i].what);
}

static void run_command(struct sql_prompt *p, char *line)
{
	char *arg = line + strcspn(line, " \t");

	if (*arg)
		*arg++ = '\0';
	arg += strspn(arg, " \t");
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		if (!strcmp(line, commands[i].name)) {
			commands[i].fn(p, arg);
			fflush(stdout);
			return;
		}
	log_error("sql: unknown command '%s'; .help lists all commands", line);
	p->failed = true;
}

/* ---- lines ---- */

static void trim_line(char *line)
{
	size_t n = strlen(line);

	while (n && isspace((unsigned char)line[n - 1]))
		line[--n] = '\0';
}

static void sql_prompt_clear_text(struct sql_prompt *p)
{
	strbuf_deinit(&p->text);
	p->text = (struct strbuf){0};
}

static void sql_prompt_handle_line(struct sql_prompt *p, char *line)
{
	trim_line(line);
	if (!p->text.len && (*line == '.' || *line == '\\')) {
		run_command(p, line);
		return;
	}
	if (!p->text.len && !line[strspn(line, " \t;")])
		return;
	strbuf_printf(&p->text, "%s\n", line);
	if (p->text.failed) {
		log_error("sql: out of memory");
		sql_prompt_clear_text(p);
	} else if (sqlite3_complete(p->text.s)) {
		sql_prompt_run(p, p->text.s);
		sql_prompt_clear_text(p);
	}
}

/* Runs the text after the last ';' unless the input is a terminal, and clears it. */
static void run_unfinished_text(struct sql_prompt *p)
{
	if (p->text.len && !p->el)
		sql_prompt_run(p, p->text.s);
	sql_prompt_clear_text(p);
}

/* ---- the terminal ---- */

static char *prompt_text(EditLine *el)
{
	static char first[] = "sql> ", next[] = "...> ";
	struct sql_prompt *p;

	el_get(el, EL_CLIENTDATA, &p);
	return p->text.len ? next : first;
}

/* Reads one character, as EL_GETCFN requires: returns 1, 0 at the end of the input, or -1 after
 * Ctrl-C. A new size of the terminal takes effect at once. */
static int read_character(EditLine *el, wchar_t *ret)
{
	mbstate_t state = {0};
	char c;

	for (;;) {
		ssize_t n = interrupted ? -1 : read(STDIN_FILENO, &c, 1);

		if (resized) {
			resized = 0;
			el_resize(el);
			el_set(el, EL_REFRESH);
		}
		if (n == 0)
			return 0;
		if (n < 0 && (interrupted || errno != EINTR)) {
			errno = EINTR;
			return -1;
		}
		if (n < 0)
			continue;
		switch (mbrtowc(ret, &c, 1, &state)) {
		case (size_t)-2: /* more bytes follow */
			continue;
		case (size_t)-1:
			*ret = (unsigned char)c;
			return 1;
		default:
			return 1;
		}
	}
}

static void print_words(const struct sql_words *w)
{
	struct winsize size;
	size_t width = 0, columns, rows;

	for (size_t i = 0; i < w->n; i++)
		width = MAX(width, strlen(w->words[i]) + 2);
	columns = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > width
			  ? size.ws_col / width
			  : 1;
	rows = (w->n + columns - 1) / columns;
	putchar('\n');
	for (size_t row = 0; row < rows; row++) {
		for (size_t i = row; i < w->n; i += rows)
			printf("%-*s", i + rows < w->n ? (int)width : 0, w->words[i]);
		putchar('\n');
	}
	fflush(stdout);
}

static int list_commands(const char *line, size_t len, struct sql_words *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		if (!strncmp(commands[i].name, line, len)) {
			char *name = strdup(commands[i].name);

			if (!name || array_reserve(&ret->words, &ret->cap, ret->n + 1,
						   sizeof(*ret->words))) {
				free(name);
				return -ENOMEM;
			}
			ret->words[ret->n++] = name;
		}
	return 0;
}

/* Lists the words that can complete the statement, or the command, which ends at the cursor. */
static int list_words(struct sql_prompt *p, const char *line, size_t len, struct sql_words *ret,
		      size_t *ret_typed)
{
	struct strbuf text = {0};
	int r;

	if (!p->text.len && len && line[0] == '.' && !memchr(line, ' ', len)) {
		*ret_typed = len;
		return list_commands(line, len, ret);
	}
	if (p->text.len)
		strbuf_add(&text, p->text.s, p->text.len);
	strbuf_add(&text, line, len);
	r = text.failed ? -ENOMEM
			: sql_complete(p->db, text.s ? text.s : "", text.len, ret, ret_typed);
	strbuf_deinit(&text);
	return r;
}

static unsigned char complete_word(EditLine *el, int key)
{
	const LineInfo *line = el_line(el);
	struct sql_words words = {.n = 0};
	unsigned char result = CC_ERROR;
	struct sql_prompt *p;
	size_t typed = 0, common;

	el_get(el, EL_CLIENTDATA, &p);
	if (list_words(p, line->buffer, (size_t)(line->cursor - line->buffer), &words, &typed) ==
		    0 &&
	    words.n) {
		common = sql_words_common_prefix_len(&words);
		if (common > typed) {
			_cleanup_(freep) char *more =
				strndup(words.words[0] + typed, common - typed);

			if (more && el_insertstr(el, more) == 0)
				result = CC_REFRESH;
		}
		if (words.n == 1 && common && words.words[0][common - 1] != '(' &&
		    el_insertstr(el, " ") == 0)
			result = CC_REFRESH;
		if (words.n > 1 && common == typed && words.n <= LISTED_MAX) {
			print_words(&words);
			result = CC_REDISPLAY;
		}
	}
	sql_words_deinit(&words);
	return result;
}

static int open_terminal(struct sql_prompt *p)
{
	HistEvent event;

	setlocale(LC_CTYPE, "");
	p->el = el_init("sonda", stdin, stdout, stderr);
	p->history = history_init();
	if (!p->el || !p->history)
		return -ENOMEM;
	history(p->history, &event, H_SETSIZE, HISTORY_LINES);
	history(p->history, &event, H_SETUNIQUE, 1);
	p->history_dir = sql_history_load(p->history);
	el_set(p->el, EL_CLIENTDATA, p);
	el_set(p->el, EL_PROMPT, prompt_text);
	el_set(p->el, EL_EDITOR, "emacs");
	el_set(p->el, EL_SIGNAL, 0);
	el_set(p->el, EL_HIST, history, p->history);
	el_set(p->el, EL_GETCFN, read_character);
	/* el_set() would make copies of both texts that el_end() does not free. */
	el_wset(p->el, EL_ADDFN, L"complete", L"completes a name", complete_word);
	el_set(p->el, EL_BIND, "^I", "complete", NULL);
	el_set(p->el, EL_BIND, "^R", "em-inc-search-prev", NULL);
	el_source(p->el, NULL);
	return 0;
}

static void close_terminal(struct sql_prompt *p)
{
	if (p->history) {
		sql_history_save(p->history, p->history_dir);
		history_end(p->history);
	}
	closep(&p->history_dir);
	if (p->el)
		el_end(p->el);
}

static void read_terminal(struct sql_prompt *p)
{
	while (!p->quit) {
		HistEvent event;
		const char *line;
		int n;

		/* Ctrl-C may also have come since the last line was read. */
		line = el_gets(p->el, &n);
		if (interrupted) {
			interrupted = 0;
			puts("^C");
			el_reset(p->el);
			sql_prompt_clear_text(p);
			continue;
		}
		if (!line || n <= 0)
			break;
		_cleanup_(freep) char *copy = strdup(line);

		if (!copy)
			break;
		trim_line(copy);
		if (*copy)
			history(p->history, &event, H_ENTER, copy);
		sql_prompt_handle_line(p, copy);
	}
	if (!p->quit)
		putchar('\n');
}

static void read_piped_lines(struct sql_prompt *p)
{
	_cleanup_(freep) char *line = NULL;
	size_t cap = 0;

	while (!p->quit && !interrupted && getline(&line, &cap, stdin) > 0)
		sql_prompt_handle_line(p, line);
	run_unfinished_text(p);
}

int sql_prompt(struct database *d, enum sql_format format)
{
	struct sql_prompt p = {
		.database = d, .db = database_sqlite(d), .format = format, .history_dir = -1};
	bool is_terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
	struct sigaction saved[2];
	int r = 0;

	watch_signals(saved);
	if (is_terminal) {
		r = open_terminal(&p);
		if (r == 0)
			read_terminal(&p);
		else
			log_error("sql: %s", strerror(-r));
		close_terminal(&p);
	} else {
		read_piped_lines(&p);
	}
	sql_prompt_clear_text(&p);
	restore_signals(saved);
	return r < 0 || (p.failed && !is_terminal) ? EXIT_FAILED : EXIT_GOOD;
}
