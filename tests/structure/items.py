# SPDX-License-Identifier: BSD-2-Clause
"""A self-test of scripts/conformance.py, for structure.py: what the script must tell of a few items."""
import importlib.util


def faults_of(script):
    """The mistakes of the conformance script at @script."""
    spec = importlib.util.spec_from_file_location("conformance", script)
    conformance = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(conformance)
    text = "/* IBT-01...03, CC-02: the rule. */\n/* absent: IBT-04, IBT-05. Reads 0. */\n# IBT-05"
    shown, absent = conformance.named_in(text)
    rows = {
        ("IBT-01", "text"): ("shown", False),
        ("IBT-01", "text", "partly: the other half"): ("partly", False),
        ("IBT-01", "text", "partly: "): ("partly", True),
        ("IBT-01", "text", "half of it"): ("partly", True),
        ("IBT-04", "text"): ("not yet", False),
        ("IBT-04", "text", "partly: all of it"): ("partly", True),
        ("IBT-06", "text"): ("not yet", False),
        ("CC-02", "nothing to implement", "partly: all of it"): ("partly", True),
    }
    bad = []
    if (shown, absent) != ({"IBT-01", "IBT-02", "IBT-03", "IBT-05", "CC-02"}, {"IBT-04", "IBT-05"}):
        bad.append(f"{text!r} shows {sorted(shown)} and the absence of {sorted(absent)}")
    for row, (state, is_wrong) in rows.items():
        item = conformance.Item(row, dict.fromkeys(shown, ["t"]), dict.fromkeys(absent, ["t"]))
        if item.state != state or bool(item.fault()) != is_wrong:
            bad.append(f"{row}: {item.state}, {item.fault()}")
    return bad
