/* SPDX-License-Identifier: Apache-2.0 */
/* In a child each, since signals and masks are the whole process's. */
#include <event2/event.h>
#include <pty.h>
#include <sys/ioctl.h>

#include "cli/terminal/signals.h"
#include "unit/test.h"

static char caught[128];
static struct event_base *loop;
static struct termination_signals *signals;

static void on_signal(void *ctx, int number, bool by_terminal)
{
	sprintf(caught + strlen(caught), "%d%s ", number, by_terminal ? "t" : "");
}

static void catch_all(void)
{
	for (int i = 0; i < 20; i++)
		event_base_loop(loop, EVLOOP_NONBLOCK);
}

/* Runs fn in a child; its exit code, or 256 + the signal that ended it. */
static int in_child(int (*fn)(void))
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		signal(SIGHUP, SIG_DFL); /* the tests may run under nohup */
		loop = event_base_new();
		_exit(fn());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? 256 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int catch_each(void)
{
	if (termination_signals_watch(loop, 0, on_signal, NULL, &signals))
		return 1;
	kill(getpid(), SIGINT);
	catch_all();
	kill(getpid(), SIGTERM);
	kill(getpid(), SIGHUP);
	catch_all();
	termination_signals_free(signals);
	event_base_free(loop);
	return strcmp(caught, "2 1 15 ") && strcmp(caught, "2 15 1 ") ? 2 : 0;
}

TEST(test_each_is_reported_with_its_number)
{
	assert_int_equal(in_child(catch_each), 0);
}

#define HOUR_MS 3600000

/* Two of each, as a wrapper sends them. */
static int catch_one_moment(void)
{
	if (termination_signals_watch(loop, HOUR_MS, on_signal, NULL, &signals))
		return 1;
	for (int i = 0; i < 2; i++) {
		kill(getpid(), SIGTERM);
		catch_all();
		kill(getpid(), SIGHUP);
		kill(getpid(), SIGINT);
		catch_all();
	}
	termination_signals_free(signals);
	return strcmp(caught, "15 ") ? 2 : 0;
}

TEST(test_signals_of_one_moment_are_reported_once)
{
	assert_int_equal(in_child(catch_one_moment), 0);
}

/* All that is there when it is looked: however long that takes. */
static int catch_all_at_once(void)
{
	if (termination_signals_watch(loop, 1, on_signal, NULL, &signals))
		return 1;
	kill(getpid(), SIGINT);
	kill(getpid(), SIGTERM);
	kill(getpid(), SIGHUP);
	event_base_loop(loop, EVLOOP_ONCE);
	usleep(1000);
	catch_all();
	termination_signals_free(signals);
	return strlen(caught) > strlen("15 ") ? 2 : 0;
}

TEST(test_pending_signals_are_reported_once)
{
	assert_int_equal(in_child(catch_all_at_once), 0);
}

/* However fast they come: the time is counted from the first. */
static int catch_two_moments(void)
{
	if (termination_signals_watch(loop, 2, on_signal, NULL, &signals))
		return 1;
	while (strlen(caught) < strlen("2 2 ")) {
		kill(getpid(), SIGINT);
		catch_all();
	}
	termination_signals_free(signals);
	return strcmp(caught, "2 2 ") ? 2 : 0;
}

TEST(test_a_key_that_is_held_down_is_reported_again)
{
	assert_int_equal(in_child(catch_two_moments), 0);
}

static int with_nohup(void)
{
	signal(SIGHUP, SIG_IGN);
	if (termination_signals_watch(loop, 0, on_signal, NULL, &signals))
		return 1;
	kill(getpid(), SIGHUP);
	catch_all();
	termination_signals_free(signals);
	return strcmp(caught, "") ? 2 : 0;
}

TEST(test_nohup_is_respected)
{
	assert_int_equal(in_child(with_nohup), 0);
}

/* Signals that were not reported are dropped, and later ones kill again. */
static int after_it(void)
{
	if (termination_signals_watch(loop, 0, on_signal, NULL, &signals))
		return 1;
	kill(getpid(), SIGINT);
	kill(getpid(), SIGTERM);
	termination_signals_free(signals);
	if (strcmp(caught, ""))
		return 2;
	kill(getpid(), SIGTERM);
	return 3;
}

TEST(test_afterwards_all_is_as_before)
{
	assert_int_equal(in_child(after_it), 256 + SIGTERM);
}

/* With a terminal of its own, on which a key is pressed. */
static int at_terminal(void)
{
	int master, slave;

	if (openpty(&master, &slave, NULL, NULL, NULL) || setsid() < 0 ||
	    ioctl(slave, TIOCSCTTY, 0))
		return 77;
	if (termination_signals_watch(loop, 0, on_signal, NULL, &signals))
		return 1;
	if (write(master, "\003", 1) != 1)
		return 2;
	for (int i = 0; i < 1000 && !*caught; i++) {
		event_base_loop(loop, EVLOOP_NONBLOCK);
		usleep(1000);
	}
	kill(getpid(), SIGINT);
	catch_all();
	termination_signals_free(signals);
	return strcmp(caught, "2t 2 ") ? 3 : 0;
}

TEST(test_a_key_of_the_terminal_is_known_as_such)
{
	int r;

	r = in_child(at_terminal);
	if (r == 77)
		skip();
	assert_int_equal(r, 0);
}
