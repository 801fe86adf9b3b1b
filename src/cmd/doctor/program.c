/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether a library can be preloaded into a program: ld.so(8), elf(5). See doctor.h. */
#include "cmd/doctor/doctor.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Finds @name as execvp(3) does. */
static int open_program(const char *name)
{
	const char *p = getenv("PATH");
	char path[PATH_MAX];

	if (strchr(name, '/'))
		return open(name, O_RDONLY | O_CLOEXEC);
	for (p = p ? p : "/bin:/usr/bin"; *p; p += strspn(p, ":")) {
		size_t n = strcspn(p, ":");

		if ((size_t)snprintf(path, sizeof path, "%.*s/%s", (int)n, p, name) < sizeof path &&
		    access(path, X_OK) == 0)
			return open(path, O_RDONLY | O_CLOEXEC);
		p += n;
	}
	return -1;
}

/* A program that the kernel starts without the dynamic linker. */
static bool is_static(int fd)
{
	Elf64_Ehdr h;
	Elf64_Phdr p;

	if (pread(fd, &h, sizeof h, 0) != (ssize_t)sizeof h ||
	    memcmp(h.e_ident, ELFMAG, SELFMAG) != 0 || h.e_ident[EI_CLASS] != ELFCLASS64)
		return false;
	for (unsigned i = 0; i < h.e_phnum; i++)
		if (pread(fd, &p, sizeof p, (off_t)(h.e_phoff + i * sizeof p)) !=
			(ssize_t)sizeof p ||
		    p.p_type == PT_INTERP)
			return false;
	return true;
}

void vb_doctor_program(const char *name, struct vb_check_result *r)
{
	int fd = open_program(name);
	struct stat st;

	*r = (struct vb_check_result){.verdict = VB_CHECK_OK};
	if (fd < 0 || fstat(fd, &st)) {
		r->verdict = VB_CHECK_FAIL;
		snprintf(r->found, sizeof r->found, "'%s' cannot be read", name);
	} else if (st.st_mode & S_ISUID || st.st_mode & S_ISGID) {
		r->verdict = VB_CHECK_FAIL;
		snprintf(r->found, sizeof r->found,
			 "'%s' is set-user-ID or set-group-ID: nothing can be preloaded", name);
		snprintf(r->remedy, sizeof r->remedy, "run a copy without that bit");
	} else if (is_static(fd)) {
		r->verdict = VB_CHECK_FAIL;
		snprintf(r->found, sizeof r->found,
			 "'%s' is linked statically: nothing can be preloaded", name);
		snprintf(r->remedy, sizeof r->remedy, "link it dynamically");
	} else {
		snprintf(r->found, sizeof r->found, "'%s' is in reach", name);
	}
	if (fd >= 0)
		close(fd);
}
