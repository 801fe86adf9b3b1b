/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Why libverbena.so cannot get into a program, told from its file: ld.so(8) preloads nothing into
 * programs that it does not start, and into programs that gain rights. elf(5), execve(2)
 */
#include "cmd/run/program.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define SCRIPTS_MAX 4 /* interpreters of interpreters, as execve(2) has them */
#define NOTES_MAX 4096
#define HEADERS_MAX 256

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#else
#define MACHINE EM_NONE /* any */
#endif

static bool find_program(const char *name, char *path, size_t size)
{
	const char *p = getenv("PATH");

	if (strchr(name, '/'))
		return (size_t)snprintf(path, size, "%s", name) < size && access(path, F_OK) == 0;
	for (p = p ? p : "/bin:/usr/bin"; *p; p += strspn(p, ":")) {
		size_t n = strcspn(p, ":");

		if ((size_t)snprintf(path, size, "%.*s/%s", (int)n, p, name) < size &&
		    access(path, X_OK) == 0)
			return true;
		p += n;
	}
	return false;
}

/* The note that Go's linker leaves: its owner is "Go". */
static bool has_go_note(int fd, const Elf64_Phdr *p)
{
	_Alignas(Elf64_Nhdr) char notes[NOTES_MAX];
	size_t size = p->p_filesz < sizeof notes ? p->p_filesz : sizeof notes, at = 0;

	if (pread(fd, notes, size, (off_t)p->p_offset) != (ssize_t)size)
		return false;
	while (at + sizeof(Elf64_Nhdr) <= size) {
		const Elf64_Nhdr *n = (const void *)(notes + at);
		size_t name = at + sizeof *n;
		size_t name_size = ((size_t)n->n_namesz + 3) & ~(size_t)3;
		size_t text_size = ((size_t)n->n_descsz + 3) & ~(size_t)3;

		if (n->n_namesz == 4 && name + 4 <= size && memcmp(notes + name, "Go\0", 4) == 0)
			return true;
		if (name_size > size || text_size > size)
			return false;
		at = name + name_size + text_size;
	}
	return false;
}

/* Programs that the kernel starts without the dynamic linker, and Go's. */
static enum vb_program_kind kind_of_elf(int fd, const Elf64_Ehdr *h)
{
	bool is_static = true, is_go = false;
	Elf64_Phdr p;

	if (h->e_ident[EI_CLASS] != ELFCLASS64 || (MACHINE != EM_NONE && h->e_machine != MACHINE))
		return VB_PROGRAM_OTHER;
	for (unsigned i = 0; i < h->e_phnum && i < HEADERS_MAX; i++) {
		if (pread(fd, &p, sizeof p, (off_t)(h->e_phoff + i * sizeof p)) !=
		    (ssize_t)sizeof p)
			return VB_PROGRAM_UNREAD;
		is_static &= p.p_type != PT_INTERP;
		is_go |= p.p_type == PT_NOTE && has_go_note(fd, &p);
	}
	if (is_go)
		return is_static ? VB_PROGRAM_GO_STATIC : VB_PROGRAM_GO;
	return is_static ? VB_PROGRAM_STATIC : VB_PROGRAM_PLAIN;
}

/* The interpreter that the first line names. False: the file is no script. */
static bool read_script(const char *head, size_t size, char *path)
{
	size_t at = 2, len;

	if (size < 3 || memcmp(head, "#!", 2) != 0)
		return false;
	while (at < size && (head[at] == ' ' || head[at] == '\t'))
		at++;
	len = strcspn(head + at, " \t\n");
	memcpy(path, head + at, len);
	path[len] = 0;
	return len > 0;
}

static bool gains_rights(const char *path, const struct stat *st, struct vb_program *p)
{
	if (st->st_mode & S_ISUID || st->st_mode & S_ISGID) {
		p->kind = VB_PROGRAM_SETUID;
		p->is_out_of_reach = (st->st_mode & S_ISUID && st->st_uid != getuid()) ||
				     (st->st_mode & S_ISGID && st->st_gid != getgid());
		return true;
	}
	if (getxattr(path, "security.capability", NULL, 0) > 0) {
		p->kind = VB_PROGRAM_CAPABLE;
		p->is_out_of_reach = getuid() != 0;
		return true;
	}
	return false;
}

/* Looks at the file; of a script, p->path is its interpreter then, and true is returned. */
static bool look_once(struct vb_program *p)
{
	_Alignas(Elf64_Ehdr) char head[PATH_MAX] = "";
	struct stat st;
	int fd = open(p->path, O_RDONLY | O_CLOEXEC);
	ssize_t size = fd < 0 ? -1 : pread(fd, head, sizeof head - 1, 0);
	bool is_script = false;

	p->kind = VB_PROGRAM_UNREAD;
	/* Those that may be run and not read can gain rights all the same. */
	if (stat(p->path, &st) == 0 && gains_rights(p->path, &st, p)) {
		/* A script gains none. */
		is_script = size > 0 && read_script(head, (size_t)size, p->path);
		if (is_script)
			p->is_out_of_reach = false;
	} else if (size >= (ssize_t)sizeof(Elf64_Ehdr) && memcmp(head, ELFMAG, SELFMAG) == 0) {
		p->kind = kind_of_elf(fd, (const Elf64_Ehdr *)(const void *)head);
		p->is_out_of_reach = p->kind == VB_PROGRAM_STATIC || p->kind == VB_PROGRAM_OTHER ||
				     p->kind == VB_PROGRAM_GO_STATIC;
	} else if (size > 0) {
		is_script = read_script(head, (size_t)size, p->path);
	}
	if (fd >= 0)
		close(fd);
	return is_script;
}

void vb_program_look(const char *name, struct vb_program *p)
{
	*p = (struct vb_program){.kind = VB_PROGRAM_MISSING};
	if (!find_program(name, p->path, sizeof p->path))
		return;
	for (int i = 0; i < SCRIPTS_MAX && look_once(p); i++)
		;
}

static const struct {
	const char *words, *remedy;
} said[] = {
    [VB_PROGRAM_PLAIN] = {"", ""},
    [VB_PROGRAM_MISSING] = {"there is no such program", ""},
    [VB_PROGRAM_UNREAD] = {"its file cannot be read, or is no ELF program and no script", ""},
    [VB_PROGRAM_SETUID] = {"it is set-user-ID or set-group-ID: nothing can be preloaded",
			   "run a copy without that bit"},
    [VB_PROGRAM_CAPABLE] = {"its file has capabilities: nothing can be preloaded",
			    "run a copy, which has none"},
    [VB_PROGRAM_STATIC] = {"it is linked statically: nothing can be preloaded",
			   "link it dynamically"},
    [VB_PROGRAM_OTHER] = {"it is of another architecture than libverbena.so: nothing can be "
			  "preloaded",
			  "build it, or verbena, for the same one"},
    [VB_PROGRAM_GO] = {"it is a Go program: its calls of libibverbs by cgo reach verbena, system "
		       "calls that Go makes itself do not",
		       "open devices by libibverbs"},
    [VB_PROGRAM_GO_STATIC] =
	{"it is a Go program without cgo: it makes its system calls itself, "
	 "and nothing can be preloaded",
	 "build it with CGO_ENABLED=1 and dynamic linking, and call libibverbs"},
};

const char *vb_program_words(enum vb_program_kind kind)
{
	return said[kind].words;
}

const char *vb_program_remedy(enum vb_program_kind kind)
{
	return said[kind].remedy;
}
