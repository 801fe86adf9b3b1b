/* SPDX-License-Identifier: BSD-2-Clause */
/* Lines of `verbena trace`, see output.h. */
#include "calls/output.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PATTERN_MAX 64
/* An own number: a program may close 2, or have another file there. */
#define NUMBER_MIN 800
#define LINE_BYTES (VB_CALL_BYTES + 256u)
#define REPEAT_BYTES 1024u

static struct {
	pthread_once_t once;
	int fd; /* -1: nothing is shown */
	bool json;
	const char *calls; /* patterns with commas; NULL: all */
} output = {.once = PTHREAD_ONCE_INIT, .fd = -1};

/* The last line of this thread, and calls that were the same since, without one of their own. */
static _Thread_local struct {
	const char *verb;
	uint64_t cnt, begin, took; /* ns */
	char text[REPEAT_BYTES];   /* "": longer than that, and each is shown */
} repeat;

static int open_output(const char *path)
{
	int fd = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644) : STDERR_FILENO;
	int own = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, NUMBER_MIN);

	if (fd >= 0 && path)
		close(fd);
	return own;
}

static void read_settings(void)
{
	const char *set = getenv("VERBENA_TRACE"), *file;

	if (!set)
		return;
	output.calls = getenv("VERBENA_TRACE_CALLS");
	if (output.calls && !*output.calls)
		output.calls = NULL;
	output.json = strncmp(set, "json", 4) == 0;
	file = strstr(set, "file=");
	output.fd = open_output(file ? file + strlen("file=") : NULL);
	if (output.fd < 0)
		dprintf(STDERR_FILENO, "verbena trace: %s: %s\n", file ? file : "standard error",
			strerror(errno));
}

bool vb_output_is_json(void)
{
	return output.json;
}

/* The name of a verb, or a pattern of names, without the "ibv_" that most have. */
static const char *name_within(const char *verb)
{
	return strncmp(verb, "ibv_", 4) == 0 ? verb + 4 : verb;
}

/* Whether one of the patterns, with commas between them, is for @name. */
static bool matches_any(const char *patterns, const char *name)
{
	char one[PATTERN_MAX];

	for (const char *p = patterns; *p; p += strspn(p, ",")) {
		size_t n = strcspn(p, ",");

		snprintf(one, sizeof one, "%.*s", (int)n, p);
		if (fnmatch(name_within(one), name, 0) == 0)
			return true;
		p += n;
	}
	return false;
}

bool vb_output_wants(const char *verb)
{
	const char *p;

	pthread_once(&output.once, read_settings);
	p = output.calls;
	if (output.fd < 0)
		return false;
	if (!p)
		return true;
	verb = name_within(verb);
	return *p == '!' ? !matches_any(p + 1, verb) : matches_any(p, verb);
}

void vb_output_quote(const char *text, char *to, size_t size)
{
	size_t at = 0;

	for (; *text && at + 7 < size; text++) {
		if (*text == '"' || *text == '\\')
			to[at++] = '\\';
		if ((unsigned char)*text < ' ')
			at += (size_t)snprintf(to + at, size - at, "\\u%04x", (unsigned)*text);
		else
			to[at++] = *text;
	}
	to[at] = 0;
}

/* The time of day of @at, which was @ago before now. */
static void put_head(char *line, size_t size, uint64_t at, const char *verb)
{
	struct timespec now, mono;
	uint64_t ns, ago;
	struct tm tm;
	time_t t;

	clock_gettime(CLOCK_REALTIME, &now);
	clock_gettime(CLOCK_MONOTONIC, &mono);
	ago = (uint64_t)mono.tv_sec * 1000000000u + (uint64_t)mono.tv_nsec - at;
	ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec - ago;
	t = (time_t)(ns / 1000000000u);
	localtime_r(&t, &tm);
	if (output.json)
		snprintf(line, size,
			 "{\"time\": %" PRIu64 ".%09u, \"pid\": %d, \"tid\": %d, \"call\": \"%s\", "
			 "\"arguments\": {",
			 ns / 1000000000u, (unsigned)(ns % 1000000000u), (int)getpid(),
			 (int)gettid(), verb);
	else
		snprintf(line, size, "[%d] %02d:%02d:%02d.%06u %s(", (int)gettid(), tm.tm_hour,
			 tm.tm_min, tm.tm_sec, (unsigned)(ns % 1000000000u / 1000), verb);
}

/* @times more calls that were the same took @took ns together; 0: it is one call. */
static void write_line(uint64_t at, const char *verb, const char *text, uint64_t times,
		       uint64_t took)
{
	static _Thread_local char line[LINE_BYTES];
	size_t n;

	put_head(line, sizeof line, at, verb);
	n = strlen(line);
	n += (size_t)snprintf(line + n, sizeof line - n, "%s", text);
	if (times)
		n += (size_t)snprintf(
		    line + n, sizeof line - n,
		    output.json ? ", \"times\": %" PRIu64 : ", %" PRIu64 " more times", times);
	if (output.json)
		n += (size_t)snprintf(line + n, sizeof line - n, ", \"ns\": %" PRIu64 "}\n", took);
	else
		n += (size_t)snprintf(line + n, sizeof line - n, " <%" PRIu64 ".%03u us>\n",
				      took / 1000, (unsigned)(took % 1000));
	/* Nobody reads on: the program goes on all the same. */
	if (write(output.fd, line, n) < 0)
		errno = 0;
}

static void repeat_flush(void)
{
	if (repeat.cnt)
		write_line(repeat.begin, repeat.verb, repeat.text, repeat.cnt, repeat.took);
	repeat.cnt = repeat.took = 0;
}

void vb_output_line(const struct vb_call *c)
{
	if (c->verb == repeat.verb && *repeat.text && strcmp(c->text, repeat.text) == 0) {
		if (!repeat.cnt++)
			repeat.begin = c->begin;
		repeat.took += c->end - c->begin;
		return;
	}
	repeat_flush();
	repeat.verb = c->verb;
	if (snprintf(repeat.text, sizeof repeat.text, "%s", c->text) >= (int)sizeof repeat.text)
		repeat.text[0] = 0;
	write_line(c->begin, c->verb, c->text, 0, c->end - c->begin);
}

/* Writes the count of the main thread when the program ends. */
__attribute__((destructor)) static void output_end(void)
{
	if (output.fd >= 0)
		repeat_flush();
}
