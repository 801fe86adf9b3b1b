# SPDX-License-Identifier: BSD-2-Clause
"""Trees that break the rules, for structure.py: each rule must find what breaks it."""

# A check, what is planted in an empty tree for it, and what it says of that.
PLANTED = (
    ("folders", {f"src/core/obj/f{i}.c": "" for i in range(16)}, "src/core/obj: 16 files, at most 15"),
    ("names", {"src/node/a.c": "static int run(void)\n{\n\treturn 0;\n}\n"}, "src/node/a.c:1: run() does not say"),
    ("names", {"src/node/a.c": "static const struct a *\nof(int b,\n   int c)\n{\n}\n"}, "src/node/a.c:2: of() does not say"),
    ("drivers", {"src/link/tin/a.c": "", "src/node/wait/a.c": "/* vb_tin_nap() */\nint a = e->tin;\n"},
     "src/node/wait/a.c:2: e->tin: the engine names no driver"),
    ("drivers", {"src/link/tin/a.c": "", "src/node/engine/a.c": "int a = VB_TIN_ROOM;\n"}, "src/node/engine/a.c:1: VB_TIN_: "),
    ("operations", {"src/link/link.h": "struct vb_link_ops {\n\tint (*fd)(int l);\n\tint (*send)(int l);\n};\n",
                    "src/node/control/cc.c": "int a = e->link->ops->send(1);\nint b = e->link->ops->fd(e->link);\n"},
     "src/node/control/cc.c:2: fd() may be absent"),
    ("assertions", {"src/core/a.c": "int a;\n" * 101 + "/* VB_ASSERT(1); */\nint b = VB_ASSERT(2);\n"},
     "src/core: 1 assertions in 102 lines of code, at least 10"),
    ("includes", {"src/core/a.c": '#include "link/link.h"\n'}, "src/core/a.c:1: src/core may not include link/link.h"),
    ("includes", {"src/core/a.c": "#include <stdio.h>\n"}, "src/core/a.c:1: a pure folder may not include <stdio.h>"),
    ("sizes", {"src/core/a.c": "\n" * 601}, "src/core/a.c: 601 lines, at most 600"),
    ("sizes", {"src/core/a.c": "void f(void)\n{\n" + "\n" * 71 + "}\n"}, "src/core/a.c:2: a function of 71 lines"),
    ("paths", {"docs/a.md": "`src/core/hcaa.c`\n"}, "docs/a.md:1: there is no src/core/hcaa.c"),
    ("words", {"src/core/a.c": "int a = malloc(1);\n"}, "src/core/a.c:1: malloc("),
    ("sentences", {"src/core/a.c": "/*\n * A thing. What is\n * left goes.\n */\n"}, "src/core/a.c:1: \"What is left goes\": which noun"),
    ("sentences", {"tests/a.py": "# Whoever comes late.\n# What is it?\n"}, "tests/a.py:1: \"Whoever comes late\": which noun"),
    ("circles", {"src/trace/a.c": "int b(void);\nint a(void)\n{\n\treturn b();\n}\n",
                 "src/trace/b.c": "int a(void);\nint b(void)\n{\n\treturn a();\n}\n"},
     "src/trace: a.c, b.c call each other in a circle"),
    ("machines", {"src/fabric/cable.c": "int b(void);\nint a(void)\n{\n\treturn b();\n}\n",
                  "src/fabric/switch.c": "int b(void)\n{\n\treturn 1;\n}\n"},
     "src/fabric/cable.c calls b of switch.c"),
    ("symbols", {"src/trace/a.c": "int puts(const char *);\nint a(void)\n{\n\treturn puts(\"\");\n}\n"},
     "libvb_trace.a calls puts"),
    ("globals", {"src/trace/a.c": "int a = 1;\n"}, "libvb_trace.a: a is mutable"),
)
