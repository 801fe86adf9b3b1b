/* SPDX-License-Identifier: BSD-2-Clause */
/* `verbena top`: the activity of this host's processes and QPs, until Ctrl-C or q. In a terminal
 * the table fills the screen and follows its size. */
#include "cmd/observe/top.h"

#include "cmd/cmd.h"
#include "node/host/clock.h"

#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#define SECONDS_MIN 0.1
#define SECONDS_MAX 3600.0

/* Another screen without a cursor, and back; home; rest of the line and of the screen is empty. */
#define SCREEN_BEGIN "\033[?1049h\033[?25l"
#define SCREEN_END "\033[?25h\033[?1049l"
#define SCREEN_CLEAR "\033[H\033[J"

enum { OPT_DEVICE, OPT_SECONDS, OPT_ONCE, OPT_JSON };

static const struct vb_cmd_option options[] = {
    [OPT_DEVICE] = {'d', "device", "NAME", "only this device or network device"},
    [OPT_SECONDS] = {'s', "seconds", "SECONDS", "look every SECONDS (1)"},
    [OPT_ONCE] = {'n', "once", NULL, "print one table, of the next SECONDS, and end"},
    [OPT_JSON] = {'j', "json", NULL, "a line of JSON for each look"},
    {0},
};

struct top {
	const struct vb_cmd *cmd;
	const char *device;
	double seconds;
	bool once, json;
	bool is_screen; /* a table that is drawn again and again */
	bool reads_keys;
	struct termios was; /* the terminal before */
	int signals;
	struct vb_top_sample at[2]; /* the look before, and this one */
};

static int parse_options(struct top *t, int argc, char **argv)
{
	const char *arg;
	int i;

	while ((i = vb_cmd_next_option(t->cmd, argc, argv, &arg)) >= 0) {
		t->once |= i == OPT_ONCE;
		t->json |= i == OPT_JSON;
		if (i == OPT_DEVICE)
			t->device = arg;
		if (i == OPT_SECONDS && !vb_cmd_number(arg, SECONDS_MIN, SECONDS_MAX, &t->seconds))
			return vb_cmd_usage(t->cmd, "'%s' is no number of seconds, 0.1 to 3600",
					    arg);
	}
	if (optind < argc)
		return vb_cmd_usage(t->cmd, "unexpected argument '%s'", argv[optind]);
	return 0;
}

static void begin_screen(struct top *t)
{
	struct termios raw;

	t->is_screen = !t->once && !t->json && isatty(STDOUT_FILENO);
	if (!t->is_screen)
		return;
	t->reads_keys = isatty(STDIN_FILENO) && tcgetattr(STDIN_FILENO, &t->was) == 0;
	if (t->reads_keys) {
		raw = t->was;
		raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
		tcsetattr(STDIN_FILENO, TCSANOW, &raw);
	}
	fputs(SCREEN_BEGIN, stdout);
}

static void end_screen(struct top *t)
{
	if (t->is_screen)
		fputs(SCREEN_END, stdout);
	fflush(stdout);
	if (t->reads_keys)
		tcsetattr(STDIN_FILENO, TCSANOW, &t->was);
}

static void show_sample(const struct top *t)
{
	struct winsize size = {0};

	if (t->json) {
		vb_top_json(stdout, &t->at[1]);
	} else if (!t->is_screen) {
		vb_top_table(stdout, &t->at[1], 0, 0);
		fputs(t->once ? "" : "\n", stdout);
	} else {
		/* The last line stays free, or the screen would scroll. */
		(void)ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
		fputs(SCREEN_CLEAR, stdout);
		vb_top_table(stdout, &t->at[1], size.ws_row > 1 ? size.ws_row - 1u : 0,
			     size.ws_col);
	}
	fflush(stdout);
}

enum wish { WISH_NOTHING, WISH_DRAW, WISH_END };

/* The user's wish within @ms milliseconds. */
static enum wish await_user(const struct top *t, int ms)
{
	struct pollfd p[] = {{.fd = t->signals, .events = POLLIN},
			     {.fd = t->reads_keys ? STDIN_FILENO : -1, .events = POLLIN}};
	struct signalfd_siginfo info;
	char key;

	if (poll(p, 2, ms) <= 0)
		return WISH_NOTHING;
	if (p[0].revents && read(t->signals, &info, sizeof info) == (ssize_t)sizeof info)
		return info.ssi_signo == SIGWINCH ? WISH_DRAW : WISH_END;
	if (p[1].revents && (read(STDIN_FILENO, &key, 1) != 1 || key == 'q'))
		return WISH_END;
	return WISH_DRAW;
}

/* Waits for the next look; a screen that changes its size is drawn again at once. */
static bool await_next(const struct top *t, vb_time until)
{
	for (;;) {
		vb_time now = vb_clock_now();
		enum wish w =
		    await_user(t, now < until ? (int)((until - now + VB_MSEC - 1) / VB_MSEC) : 0);

		if (w == WISH_END)
			return false;
		if (w == WISH_NOTHING)
			return true;
		if (t->is_screen && t->at[1].seconds > 0)
			show_sample(t);
	}
}

static int watch_host(struct top *t)
{
	struct vb_top_sample next;
	char why[512];

	for (;;) {
		int rc = vb_top_look(&next, &t->at[1], t->device, why, sizeof why);

		/* Without a broker nothing runs; programs may come. */
		if (rc && rc != -ENOTCONN) {
			vb_top_free(&next);
			end_screen(t);
			vb_cmd_error(t->cmd, "%s", why);
			return 1;
		}
		vb_top_free(&t->at[0]);
		t->at[0] = t->at[1];
		t->at[1] = next;
		/* The first look has nothing to compare with; but there may be nothing to see. */
		if (t->at[0].at) {
			show_sample(t);
			if (t->once || ferror(stdout))
				return 0;
		}
		if (!await_next(t, next.at + (vb_time)(t->seconds * (double)VB_SEC)))
			return 0;
	}
}

static int run_top(const struct vb_cmd *cmd, int argc, char **argv)
{
	static struct top t;
	sigset_t set;
	int rc;

	t.cmd = cmd;
	t.seconds = 1;
	rc = parse_options(&t, argc, argv);
	if (rc)
		return rc;
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGWINCH);
	sigprocmask(SIG_BLOCK, &set, NULL);
	t.signals = signalfd(-1, &set, SFD_CLOEXEC);
	if (t.signals < 0) {
		vb_cmd_error(cmd, "cannot wait for signals: %s", strerror(errno));
		return 1;
	}
	begin_screen(&t);
	rc = watch_host(&t);
	if (rc == 0)
		end_screen(&t);
	close(t.signals);
	vb_top_free(&t.at[0]);
	vb_top_free(&t.at[1]);
	return rc ? rc : vb_cmd_finish(cmd);
}

const struct vb_cmd vb_cmd_top = {
    .name = "top",
    .arguments = "[-d NAME] [-s SECONDS] [--once] [--json]",
    .text = "Shows which processes and QPs send and receive how much, until Ctrl-C or q.",
    .options = options,
    .run = run_top,
};
