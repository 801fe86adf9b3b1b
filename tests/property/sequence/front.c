/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `sequence [--seed N] [--runs N | --minutes N]` plays random cases; `sequence --case FILE` plays
 * one that is written down. A case that fails, crashes or hangs is shrunk, and printed as a file
 * that --case takes.
 */
#include "steps.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BATCH 100u
#define CASE_SECONDS 60u

/* The report that a process that plays cases leaves for the one that watches it. */
static struct shared {
	uint64_t seed;
	struct play_count count;
	char kind[32], text[600];
} * shared;

static bool quiet;

void fail(const char *kind, const char *fmt, ...)
{
	va_list ap;

	snprintf(shared->kind, sizeof shared->kind, "%s", kind);
	va_start(ap, fmt);
	(void)vsnprintf(shared->text, sizeof shared->text, fmt, ap);
	va_end(ap);
	fflush(stdout);
	_exit(1);
}

static void add(const struct play_count *c)
{
	shared->count.completions += c->completions;
	shared->count.packets += c->packets;
	shared->count.bytes += c->bytes;
}

/* Plays in a child process: @one, or the cases of @runs seeds. True when all is well; else kind and
 * text say why. */
static bool play_apart(const struct sequence *one, uint64_t seed, uint32_t runs, bool verbose)
{
	int status;

	shared->kind[0] = shared->text[0] = '\0';
	fflush(stdout);

	pid_t pid = fork();

	if (pid < 0) {
		fprintf(stderr, "sequence: no child process: %s\n", strerror(errno));
		exit(2);
	}
	if (pid == 0) {
		static struct sequence s;
		struct play_count c;

		if (quiet && !freopen("/dev/null", "w", stderr))
			_exit(2);
		for (uint32_t i = 0; i < runs; i++) {
			shared->seed = seed + i;
			if (!one)
				sequence_make(&s, seed + i);
			/* Of its own time: other work of the machine is no matter. */
			setitimer(ITIMER_PROF, &(struct itimerval){{0}, {CASE_SECONDS, 0}}, NULL);
			sequence_play(one ? one : &s, verbose, &c);
			add(&c);
		}
		exit(0);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return true;
	if (shared->kind[0] == '\0') {
		bool hangs = WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF;

		snprintf(shared->kind, sizeof shared->kind, "%s", hangs ? "hang" : "crash");
		snprintf(shared->text, sizeof shared->text, "%s %d",
			 WIFSIGNALED(status) ? "signal" : "exit status",
			 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	}
	return false;
}

static bool fails(const struct sequence *s, const char *kind)
{
	return !play_apart(s, 0, 1, false) && strcmp(shared->kind, kind) == 0;
}

static int report(struct sequence *s, bool shrink)
{
	char kind[32], text[600];
	uint32_t steps = s->cnt, attempts = 0;

	memcpy(kind, shared->kind, sizeof kind);
	printf("fails: %s: %s\n", kind, shared->text);
	quiet = true;
	/* As long as it takes for one hang is too long for hundreds. */
	if (shrink && strcmp(kind, "hang") != 0)
		attempts = sequence_shrink(s, kind, fails);
	(void)fails(s, kind);
	memcpy(text, shared->text, sizeof text);
	printf("%u steps are left of %u after %u attempts; run them with --case FILE:\n", s->cnt,
	       steps, attempts);
	printf("# %s: %s\n", kind, text);
	sequence_print(stdout, s);
	return 1;
}

static uint64_t number(const char *text)
{
	char *end;
	unsigned long long n = strtoull(text, &end, 0);

	if (*text == '\0' || *end != '\0') {
		fprintf(stderr, "sequence: %s: not a number\n", text);
		exit(2);
	}
	return n;
}

static int run_file(const char *path, bool verbose, bool shrink)
{
	static struct sequence s;
	FILE *f = strcmp(path, "-") == 0 ? stdin : fopen(path, "r");
	int line;

	if (!f) {
		fprintf(stderr, "sequence: %s: %s\n", path, strerror(errno));
		return 2;
	}
	line = sequence_read(f, &s);
	fclose(f);
	if (line) {
		fprintf(stderr, "sequence: %s:%d: not a step; see tests/property/sequence/text.c\n",
			path, line);
		return 2;
	}
	if (play_apart(&s, 0, 1, verbose))
		return 0;
	return report(&s, shrink);
}

static int run_seeds(uint64_t seed, uint64_t runs, uint64_t minutes, bool shrink)
{
	static struct sequence s;
	time_t end = time(NULL) + (time_t)(minutes * 60);
	uint64_t i = 0;

	while (minutes ? time(NULL) < end : i < runs) {
		uint32_t n = minutes || runs - i > BATCH ? BATCH : (uint32_t)(runs - i);

		if (!play_apart(NULL, seed + i, n, false)) {
			printf("seed %llu ", (unsigned long long)shared->seed);
			sequence_make(&s, shared->seed);
			return report(&s, shrink);
		}
		i += n;
	}
	printf("%llu cases from seed %llu: %llu completions, %llu packets, %llu bytes\n",
	       (unsigned long long)i, (unsigned long long)seed,
	       (unsigned long long)shared->count.completions,
	       (unsigned long long)shared->count.packets, (unsigned long long)shared->count.bytes);
	return 0;
}

int main(int argc, char **argv)
{
	uint64_t seed = 1, runs = 1000, minutes = 0;
	const char *path = NULL;
	bool verbose = false, shrink = true;

	shared =
	    mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED) {
		fprintf(stderr, "sequence: no memory: %s\n", strerror(errno));
		return 2;
	}
	for (int i = 1; i < argc; i++) {
		const char *arg = i + 1 < argc ? argv[i + 1] : NULL;

		if (strcmp(argv[i], "--verbose") == 0) {
			verbose = true;
			continue;
		}
		if (strcmp(argv[i], "--no-shrink") == 0) {
			shrink = false;
			continue;
		}
		if (arg && strcmp(argv[i], "--seed") == 0) {
			seed = number(arg);
		} else if (arg && strcmp(argv[i], "--runs") == 0) {
			runs = number(arg);
		} else if (arg && strcmp(argv[i], "--minutes") == 0) {
			minutes = number(arg);
		} else if (arg && strcmp(argv[i], "--case") == 0) {
			path = arg;
		} else {
			fprintf(stderr, "usage: sequence [--seed N] [--runs N | --minutes N] "
					"[--no-shrink] [--case FILE [--verbose]]\n");
			return 2;
		}
		i++;
	}
	return path ? run_file(path, verbose, shrink) : run_seeds(seed, runs, minutes, shrink);
}
