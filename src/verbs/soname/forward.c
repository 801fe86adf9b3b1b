/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libibverbs.so.1 for programs that ask for it by name while they run: dlopen() and then dlsym() or
 * dlvsym(), as NCCL and many language bindings do. Preloading does not reach those, since they look
 * into the library that they opened. `verbena run` lets LD_LIBRARY_PATH find this one: it has the
 * name and the versions of rdma-core's library and depends on libverbena.so first and on
 * rdma-core's second, so what one does not define the other does.
 *
 * A look-up without a version goes on to libverbena.so, whose symbols have none. One with a version
 * needs a symbol that has it: these, which jump. The build makes the table of them, forward.def, of
 * the symbol maps of both libraries: cmake/forward.cmake. ld.so(8), dlsym(3)
 */
#if defined __x86_64__
#define JUMP(name) "endbr64; jmp *" #name "@GOTPCREL(%rip)"
#elif defined __aarch64__
#define JUMP(name) "adrp x16, :got:" #name "; ldr x16, [x16, :got_lo12:" #name "]; br x16"
#else
#error "no jump for this processor"
#endif

/* One @: found by its version alone. Two would stand before libverbena.so's in every look-up. */
#define ENTRY(label, code)                                                                         \
	".text\n.globl " label "\n.type " label ", STT_FUNC\n" label ":\n" code "\n"
#define ALIAS(label, name) ".size " label ", . - " label "\n.symver " label ", " name "\n"
#define FORWARD(name, version)                                                                     \
	__asm__(ENTRY("forward_" #name, JUMP(name)) ALIAS("forward_" #name, #name "@" #version));
#include "forward.def"
#undef FORWARD

_Static_assert(sizeof(void (*)(void)) == 8, "entries of the global offset table have 64 bits");
